"""Compare the plan of a new policy with the plan that a real solve of the same snapshot made. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from libs.domain.arrays import Indices
from libs.domain.fleet import FREE, FleetSnapshot
from libs.ras.evaluate import evaluate
from libs.ras.solve_result import SolveResult


def compare_policies(
    snapshot: FleetSnapshot, real: Indices, real_report: Mapping[str, Any], shadow: SolveResult
) -> dict[str, Any]:
    """Return the differences of two plans for `snapshot`, as JSON. Both have the prices of the snapshot's policy.

    real         (S,) the targets after the real solve
    real_report  its report, as JSON
    shadow       the answer of the shadow solve
    """
    bound = np.maximum(real, FREE) != np.maximum(shadow.plan.target, FREE)
    told = shadow.report.as_dict()
    return {
        "at_old_prices": {"real": _terms(snapshot, real), "shadow": _terms(snapshot, shadow.plan.target)},
        "bound_differently": int(bound.sum()),
        "servers": len(snapshot.servers),
        "solve": {
            name: {figure: report[figure] for figure in ("solve_s", "peak_mib", "gap", "stopped_by")}
            for name, report in (("real", real_report), ("shadow", told))
        },
    }


def _terms(snapshot: FleetSnapshot, binding: Indices) -> dict[str, Any]:
    score = evaluate(snapshot, np.maximum(binding, FREE).astype(np.int32))
    return asdict(score) | {"objective": score.objective, "penalty": score.penalty, "total": score.total}
