"""Make the documents of a plan for people and programs, by file name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from libs.flux.planning import Planned
from libs.flux.report.disaster import disaster_document
from libs.flux.report.places import places_document
from libs.flux.report.review import review_of
from libs.flux.report.summary import plan_document
from libs.interchange.world.execution_plan import execution_plan_document
from libs.interchange.world.placement_plan import placement_plan_document
from libs.interchange.world.service_models import service_models_document
from services.planner.document_names import DAG, DISASTER, MODEL, PLACES, PLAN


def plan_files(planned: Planned) -> dict[str, bytes]:
    """Return the files of a plan: the plan, its models, its execution, its reasons, the effect of losses, its
    places, and pictures.
    """
    words, models = planned.words, planned.models
    documents = {
        PLAN: placement_plan_document(words, models, planned.inputs, planned.solved.plan),
        DAG: execution_plan_document(planned.execution),
        MODEL: service_models_document(words, models),
        DISASTER: disaster_document(words, models, planned.inputs, planned.problem, planned.solved),
        PLACES: places_document(planned),
    }
    files = {name: json.dumps(document).encode() for name, document in documents.items()}
    return files | {name: content.encode() for name, content in review_of(planned).items()}


def plan_summary(planned: Planned, starts: Sequence[datetime], step_s: float) -> dict[str, Any]:
    """Summarise the plan and each of its steps in a few figures.

    starts   start of each step
    step_s   seconds that a step lasts
    """
    plan, before = planned.solved.plan, planned.problem.kappa
    moved, steps = plan.moved(planned.problem.xi), []
    for t, step in enumerate(plan.step):
        steps.append(
            {
                "step": int(step),
                "starts_at": starts[t].isoformat(),
                "traffic_moved": float(moved[t]),
                "upsized": float(np.maximum(plan.capacity[t] - before, 0.0).sum()),
                "freed": float(np.maximum(before - plan.capacity[t], 0.0).sum()),
                "growth": float(plan.growth[t].sum()),
                "spare": float(plan.spare[t].sum()),
                "deficit": float(plan.deficit[t].sum()),
            }
        )
        before = plan.capacity[t]
    return {**plan_document(planned, step_s / 3600), "steps": steps}
