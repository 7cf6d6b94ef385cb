"""Compare the plan of a changed world with the plan of the world as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.arrays import Floats
from libs.flux.planning import Planned
from libs.flux.report.traffic_growth import percent

NOISE = 1e-6
"""Differences below this share of the largest number of the service or product are rounding noise."""


def difference_document(before: Planned | None, after: Planned) -> dict[str, Any]:
    """Return the places where the plans differ, and what is not possible in the changed world.

    before   the plan of the world as it is; None: it has no plan

    Capacities are in units of the hardware type, and traffic is a share of the product's present traffic.
    """
    words, plan, regions = after.words, after.solved.plan, len(after.words.regions)
    kappa, xi = after.problem.kappa, after.problem.xi
    without_capacity = None if before is None else _wide(before.solved.plan.capacity, regions)
    without_traffic = None if before is None else _wide(before.solved.plan.traffic, regions)
    services = [str(words.services[s]) for s in words.placement_service]
    types = [str(words.hardware_types[h]) for h in words.placement_type]
    capacity = [
        {
            "step": int(plan.step[t]),
            "service": services[k],
            "hardware_type": types[k],
            "region": str(words.regions[r]),
            **_numbers(kappa[k, r], without_capacity, plan.capacity, (t, k, r)),
        }
        for t, k, r in _differing(plan.capacity, without_capacity, kappa)
    ]
    traffic = [
        {
            "step": int(plan.step[t]),
            "product": str(words.products[p]),
            "region": str(words.regions[r]),
            **_numbers(xi[p, r], without_traffic, plan.traffic, (t, p, r)),
        }
        for t, p, r in _differing(plan.traffic, without_traffic, xi)
    ]
    return {"capacity": capacity, "traffic": traffic, "impossible": _impossible(before, after)}


def _impossible(before: Planned | None, after: Planned) -> list[dict[str, Any]]:
    words, plan = after.words, after.solved.plan
    was = None if before is None else _wide(before.solved.plan.deficit, len(words.regions))
    found: list[dict[str, Any]] = []
    # A shrink counts as a deficit of the room for upsizes. A pool that all leave has no upsizes.
    held = after.problem.pooled(plan.capacity + plan.growth)
    for t, h, r in zip(*np.nonzero((plan.deficit > NOISE) & (held > NOISE)), strict=True):
        without = 0.0 if was is None or was[t, h, r] <= NOISE else float(was[t, h, r])
        amount, hardware, region = float(plan.deficit[t, h, r]), words.hardware_types[h], words.regions[r]
        found.append(
            {
                "reason": "SupplyLacking",
                "message": f"{region} lacks {amount:,.4g} of {hardware} in step {plan.step[t]}: without the change "
                f"{without:,.4g}",
                "numbers": {"lacking": amount, "lacking_without": without},
            }
        )
    for t, s in zip(*np.nonzero((plan.granted < 1 - 1e-6) & (after.inputs.growth > 0)), strict=True):
        share = float(plan.granted[t, s])
        message = f"{words.services[s]} gets {share:.0%} of the growth that it asked for in step {plan.step[t]}"
        found.append({"reason": "GrowthWithheld", "message": message, "numbers": {"granted": share}})
    asked = after.inputs.traffic_growth[0]
    other = np.ones_like(asked, bool) if before is None else asked != before.inputs.traffic_growth[0]
    for p in np.flatnonzero((asked < 0) & other):
        message = (
            f"{words.products[p]} does not fall by {percent(-asked[p])} in step {plan.step[0]}: a fall counts from the "
            "next step on"
        )
        found.append({"reason": "FallNotCounted", "message": message, "numbers": {"growth": float(asked[p])}})
    return found


def _wide(array: Floats, regions: int) -> Floats:
    """Return the array with zeros for the regions that the world does not have."""
    missing = regions - array.shape[-1]
    return np.concatenate([array, np.zeros((*array.shape[:-1], missing))], axis=-1)


def _differing(after: Floats, without: Floats | None, now: Floats) -> list[tuple[int, int, int]]:
    base = np.broadcast_to(now, after.shape) if without is None else without
    scale = np.maximum(np.abs(after), np.abs(base)).max((0, 2), keepdims=True)
    return [(int(t), int(k), int(r)) for t, k, r in np.argwhere(np.abs(after - base) > NOISE * scale)]


def _numbers(now: float, without: Floats | None, after: Floats, at: tuple[int, int, int]) -> dict[str, float | None]:
    return {
        "now": float(now),
        "without": None if without is None else float(without[at]),
        "with": float(after[at]),
    }
