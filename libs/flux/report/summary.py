"""Summaries of models and plans as documents for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from libs.domain.world import ServiceModels, Vocabulary
from libs.flux.planning import Planned
from libs.flux.report.traffic_growth import traffic_growth_document


def models_document(words: Vocabulary, models: ServiceModels) -> dict[str, Any]:
    """Return the quality of the models: counts, mean error, and services with low confidence."""
    known = np.flatnonzero(models.modelled)
    return {
        "services": len(known),
        "metrics": dict(Counter(models.metric[known].tolist())),
        "error_mean": float(models.error[known].mean()) if len(known) else 0.0,
        "low_confidence": {str(words.services[s]): list(models.reasons[s]) for s in known if models.reasons[s]},
    }


def plan_document(planned: Planned, step_h: float | None = None) -> dict[str, Any]:
    """Return the key figures of a plan. step_h: hours of a step; None: not known."""
    solved, execution = planned.solved, planned.execution
    rows, columns = solved.joint.model.matrix.shape
    return {
        "objective": solved.solution.objective,
        "deficit": float(solved.plan.deficit.sum()),
        "growth_withheld": float(((1 - solved.plan.granted) * planned.problem.growth).sum()),
        "growth_unplaced": unplaced_growth(planned),
        "traffic_growth": traffic_growth_document(planned, step_h),
        "settled": solved.settled,
        "programs": solved.rounds,
        "rows": rows,
        "columns": columns,
        "build_s": solved.build_s,
        "solve_s": solved.solve_s,
        "build_cpu_s": solved.build_cpu_s,
        "solve_cpu_s": solved.solve_cpu_s,
        "actions": dict(Counter(str(a.phase) for a in execution.actions)),
        "approvals": sum(bool(a.approval) for a in execution.actions),
        "estimate_h": execution.estimate_h,
    }


def unplaced_growth(planned: Planned) -> list[str]:
    """Return the services that ask for growth without measurements: there is no capacity to grow in proportion to."""
    asking = (planned.inputs.growth > 0).any(0) & ~planned.models.modelled
    return [str(name) for name in planned.words.services[asking]]
