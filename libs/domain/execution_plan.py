"""The execution plan of a placement plan: a DAG of actions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Phases of the actions in one region and on one hardware type, in their order (Flux, 3.4). Growth comes last
    (expression 15).
    """

    UPSIZE = "upsize"
    SHIFT = "shift"
    DOWNSIZE = "downsize"
    SETTLED = "settled"
    """A node without work. It is reached when all downsizes of a pool are done, so that their capacity is free to use.
    """
    GROW = "grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One node of the execution plan.

    action         id of the node
    service, region, hardware_type   the capacity that is resized
    product, region, to_region       of a shift: the traffic that goes from one region to another
    before, after  capacity in units of the hardware type; of a shift, 0 and the share of the product's traffic to move
    lead_time_h    hours from asking for capacity until the capacity serves
    estimate_h     estimated hours in total, lead time and approval included
    start_h        estimated hours from the start of the plan until the action can start
    approval       identifiers of the reasons why a person must approve the action; (): no approval needed
    waits_for      ids of the actions that must finish before
    """

    action: str
    phase: Phase
    service: str | None = None
    product: str | None = None
    region: str | None = None
    to_region: str | None = None
    hardware_type: str | None = None
    before: float = 0.0
    after: float = 0.0
    lead_time_h: float = 0.0
    estimate_h: float = 0.0
    start_h: float = 0.0
    approval: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRoom:
    """The capacity of a hardware type in a region: in use before the plan starts, and held in all."""

    region: str
    hardware_type: str
    used: float
    room: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionPlan:
    """All actions of one step, in topological order.

    estimate_h      estimated hours until all actions are done
    critical_path   ids of the actions on the critical path
    pools           the pools that hold the capacity
    """

    step: int
    actions: tuple[Action, ...]
    estimate_h: float
    critical_path: tuple[str, ...]
    pools: tuple[PoolRoom, ...] = ()
