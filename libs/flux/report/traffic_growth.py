"""Tell how a plan treats growth of traffic: when the capacity for a rise is there, and which falls do not count yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from libs.domain.arrays import Floats
from libs.domain.execution_plan import Phase
from libs.flux.planning import Planned

NOISE = 1e-6
"""Capacity below which a solver's answer is 0."""


def traffic_growth_document(planned: Planned, step_h: float | None = None) -> list[dict[str, Any]]:
    """Return an entry for each product whose traffic changes in the first step; the largest changes come first.

    step_h   hours of a step; None: not known

    growth    by the end of the step, as a share of today's traffic
    ready_h   of a rise: estimated hours from the start of the execution until the capacity for it is there; else None
    late      whether that is longer than the step; None: not known, or no rise
    lacking   of a rise: hardware that lacks in the pools of the product's services; there is no capacity without it
    """
    growth, ready_h, lacking = planned.inputs.traffic_growth[0], _ready_h(planned), _lacking(planned)
    found = []
    for p in np.argsort(-np.abs(growth), kind="stable").tolist():
        if growth[p] == 0:
            continue
        rises, product = bool(growth[p] > 0), str(planned.words.products[p])
        ready = float(ready_h[p]) if rises else None
        late = None if ready is None or step_h is None else ready > step_h
        found.append(
            {
                "product": product,
                "growth": float(growth[p]),
                "ready_h": ready,
                "late": late,
                "lacking": float(lacking[p]) if rises else 0.0,
                "message": _message(product, float(growth[p]), ready, bool(late), float(lacking[p])),
            }
        )
    return found


def _message(product: str, growth: float, ready_h: float | None, late: bool, lacking: float) -> str:
    by = percent(abs(growth))
    if ready_h is None:
        return f"{product} falls by {by}: its capacity stays, because no plan counts on a fall before it has happened"
    if lacking > NOISE:
        return f"{product} grows by {by}: the regions of its services lack {lacking:,.4g} of hardware for all they need"
    if ready_h == 0:
        return f"{product} grows by {by}: the capacity for it is there already"
    days = f"{ready_h / 24:,.1f} days after the start of the execution, by the policy's estimates"
    end = "; that is after the end of the step" if late else ""
    return f"{product} grows by {by}: the capacity for it is there {days}{end}"


def percent(share: float) -> str:
    """Return a growth as people read it: three digits, however small or large it is."""
    return f"{100 * share:.3g} %" if share < 9 else f"{100 * share:,.0f} %"


def _lacking(planned: Planned) -> Floats:
    """Return (P,) the deficit of the pools in which each product's services have capacity in the first step."""
    words, plan = planned.words, planned.solved.plan
    found = np.zeros(len(words.products))
    for p in range(len(found)):
        mine = planned.models.phi()[words.placement_service, p] > 0
        held = np.zeros(plan.deficit[0].shape, bool)
        np.logical_or.at(held, words.placement_type[mine], plan.capacity[0][mine] > NOISE)
        found[p] = plan.deficit[0][held].sum()
    return found


def _ready_h(planned: Planned) -> Floats:
    """Return (P,) hours until the upsizes of each product's services are done, and the shifts of all their products."""
    words, serves = planned.words, planned.models.phi() > 0
    row = {str(name): s for s, name in enumerate(words.services)}
    number = {str(name): p for p, name in enumerate(words.products)}
    ends = np.zeros(len(words.services))
    for a in planned.execution.actions:
        if a.phase is Phase.UPSIZE:
            s = row[str(a.service)]
            ends[s] = max(ends[s], a.start_h + a.estimate_h)
        elif a.phase is Phase.SHIFT:
            mine = serves[:, number[str(a.product)]]
            ends[mine] = np.maximum(ends[mine], a.start_h + a.estimate_h)
    return np.asarray(np.where(serves, ends[:, None], 0.0).max(0, initial=0.0))
