"""Write plan.json: a placement plan by name, in the interchange format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from libs.domain.arrays import Floats, Names
from libs.domain.placement_plan import PlacementPlan
from libs.domain.world import PlanningInputs, ServiceModels, Vocabulary
from libs.interchange.files.atomic import replacing


def placement_plan_document(
    words: Vocabulary, models: ServiceModels, inputs: PlanningInputs, plan: PlacementPlan
) -> dict[str, Any]:
    """Return the content of plan.json for the services that have a model.

    Capacity is in units of the service's own type. For a service on several types, `by_type` has the capacity on each.
    Traffic is that at the end of each step, so it adds up to 1 + tau. The first step has capacity for more if traffic
    falls (docs/designs/0066). That is part of the residual: capacity that the traffic does not explain.
    """
    planned, traffic = np.flatnonzero(models.modelled), inputs.planned_traffic()
    share = np.divide(1.0 + inputs.traffic_growth, traffic, out=np.zeros_like(traffic), where=traffic > 0)
    ends = plan.traffic * share[:, :, None]
    residual = plan.residual + models.phi() @ (plan.traffic - ends)
    told = replace(plan, traffic=ends, residual=residual)
    return {"steps": [_step(words, planned, told, t) for t in range(len(plan.step))]}


def save_placement_plan(path: Path, document: dict[str, Any]) -> None:
    """Write plan.json atomically."""
    with replacing(path) as stream:
        stream.write((json.dumps(document, indent=1) + "\n").encode())


def _step(words: Vocabulary, planned: np.ndarray[Any, Any], plan: PlacementPlan, t: int) -> dict[str, Any]:
    S, K = len(words.services), len(words.placement_service)
    names = words.services[planned]
    capacity, growth = plan.capacity[t, :S].copy(), plan.growth[t, :S].copy()
    by_type: dict[str, Any] = {}
    for k in range(S, K):
        s = words.placement_service[k]
        capacity[s] += words.placement_ratio[k] * plan.capacity[t, k]
        growth[s] += words.placement_ratio[k] * plan.growth[t, k]
    for k in np.flatnonzero(np.isin(words.placement_service, words.placement_service[S:])).tolist():
        name, kind = words.services[words.placement_service[k]], words.hardware_types[words.placement_type[k]]
        by_type.setdefault(str(name), {})[str(kind)] = _by(words.regions, plan.capacity[t, k])
    step: dict[str, Any] = {
        "step": int(plan.step[t]),
        "traffic": _table(words.products, words.regions, plan.traffic[t]),
        "capacity": _table(names, words.regions, capacity[planned]),
        "growth": _table(names[growth[planned].any(1)], words.regions, growth[planned][growth[planned].any(1)]),
        "residual": _table(names, words.regions, plan.residual[t, planned]),
        "deficit": _table(words.hardware_types, words.regions, plan.deficit[t]),
        "spare": _table(words.hardware_types, words.regions, plan.spare[t]),
        "double_occupancy": _table(words.hardware_types, words.regions, plan.double_occupancy[t]),
    }
    if by_type:
        step["by_type"] = by_type
    withheld = np.flatnonzero(plan.granted[t] < 1 - 1e-9)
    if len(withheld):
        step["granted"] = {str(words.services[s]): float(plan.granted[t, s]) for s in withheld}
    return step


def _table(names: Names, regions: Names, values: Floats) -> dict[str, dict[str, float]]:
    return {str(name): _by(regions, row) for name, row in zip(names, values, strict=True)}


def _by(names: Names, values: Floats) -> dict[str, float]:
    return {str(name): float(value) for name, value in zip(names, values, strict=True)}
