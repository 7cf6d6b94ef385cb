"""How a placement plan is carried out: actions and what must be finished before each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """In the order in which a place goes through them (Flux, 3.4); growth is given out last (expression 15)."""

    UPSIZE = "upsize"
    SHIFT = "shift"
    DOWNSIZE = "downsize"
    SETTLED = "settled"
    """No work: all downsizes of a pool are done, so what they freed may be given out."""
    GROW = "grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One node of the execution plan.

    action         its id
    service, region, hardware_type   what is resized; a shift has a product instead, and goes everywhere at once
    before, after  capacity, in units of the hardware type; a shift has its traffic by region in both
    lead_time_h    from asking for capacity to serving with it
    estimate_h     how long it is estimated to take in all, lead time and approval included
    start_h        when it may start, by those estimates, counted from the start of the plan
    approval       identifiers of why a person must approve it; () where nobody needs to
    waits_for      ids of the actions that must be finished before
    """

    action: str
    phase: Phase
    service: str | None = None
    product: str | None = None
    region: str | None = None
    hardware_type: str | None = None
    before: float | dict[str, float] = 0.0
    after: float | dict[str, float] = 0.0
    lead_time_h: float = 0.0
    estimate_h: float = 0.0
    start_h: float = 0.0
    approval: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """All actions of one step, in an order in which they may be carried out.

    estimate_h      until everything is done, by the estimates
    critical_path   ids of the actions that decide it
    """

    step: int
    actions: tuple[Action, ...]
    estimate_h: float
    critical_path: tuple[str, ...]
