"""Capacity events: dated changes of capacity or traffic that several writers plan, and their way through the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Writer(StrEnum):
    """The kind of writer of an event."""

    FLUX = "flux"
    """The orchestrator, for an action of a placement plan."""
    PERSON = "person"
    """A person, for example for a launch."""
    BUDGET = "budget"
    """A budgeting system."""


class EventStatus(StrEnum):
    """The state of an event. Executing systems act only on active events."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"

    @property
    def is_live(self) -> bool:
        """Return whether the event may still have an effect beyond what it has achieved."""
        return self in LIVE


LIVE = (EventStatus.PROPOSED, EventStatus.APPROVED, EventStatus.ACTIVE)

_GIVEN_UP = frozenset({EventStatus.SUPERSEDED, EventStatus.CANCELLED})
TRANSITIONS: Mapping[EventStatus, frozenset[EventStatus]] = {
    EventStatus.PROPOSED: frozenset({EventStatus.APPROVED}) | _GIVEN_UP,
    EventStatus.APPROVED: frozenset({EventStatus.ACTIVE}) | _GIVEN_UP,
    EventStatus.ACTIVE: frozenset({EventStatus.ACTIVE, EventStatus.SUCCEEDED, EventStatus.FAILED}) | _GIVEN_UP,
    EventStatus.SUCCEEDED: frozenset(),
    EventStatus.FAILED: frozenset(),
    EventStatus.SUPERSEDED: frozenset(),
    EventStatus.CANCELLED: frozenset(),
}
"""The statuses that may follow each status. An active event that stays active reports progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityDelta:
    """A change of a service's capacity in a region.

    delta   units of the hardware type's capacity; never 0
    """

    service: str
    region: str
    hardware_type: str
    delta: float

    @property
    def amount(self) -> float:
        """The planned amount."""
        return self.delta


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficShift:
    """A shift of a product's traffic from one region to another. The shares of all regions always sum to 1.

    share   share of the product's worldwide traffic; above 0, at most 1
    """

    product: str
    from_region: str
    to_region: str
    share: float

    @property
    def amount(self) -> float:
        """The planned amount."""
        return self.share


Effect = CapacityDelta | TrafficShift


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An event as its writer proposes it.

    starts_at          time at which the change is due
    lead_time_h        hours from asking for the capacity until it serves
    antecedents        ids of events that must succeed before this one may become active
    follows            positions of earlier proposals of the same call that must succeed first
    placement_plan_id  the plan of which the event is a part
    action             name of the plan's action that the event carries out
    """

    effect: Effect
    writer: Writer
    reason: str
    starts_at: datetime
    lead_time_h: float = 0.0
    antecedents: tuple[int, ...] = ()
    follows: tuple[int, ...] = ()
    placement_plan_id: int | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEvent:
    """An event of the ledger. Only status, achieved, changed_at and generation ever change.

    author      name of the token that proposed it
    achieved    amount of the effect that has happened so far, in the effect's unit
    changed_at  time of the last change
    """

    capacity_event_id: int
    effect: Effect
    writer: Writer
    author: str
    reason: str
    starts_at: datetime
    lead_time_h: float
    antecedents: tuple[int, ...]
    placement_plan_id: int | None
    action: str | None
    proposed_at: datetime
    status: EventStatus
    achieved: float
    changed_at: datetime
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChange:
    """A change of an event's status to make.

    generation   generation of the event that the asker has read
    achieved     amount of the effect that has happened so far. Required for active events that succeed, fail or report
                 progress. None keeps the amount.
    """

    capacity_event_id: int
    generation: int
    status: EventStatus
    reason: str | None = None
    achieved: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """One row of an event's history. The first one is its proposal."""

    generation: int
    status: EventStatus
    changed_by: str
    reason: str | None
    achieved: float
    changed_at: datetime


def why_not(now: EventStatus, change: EventChange) -> str | None:
    """Return why an event of status `now` cannot change so, or None if it can."""
    if change.status not in TRANSITIONS[now]:
        return f"is {now.value}, so it cannot become {change.status.value}"
    if now is not EventStatus.ACTIVE:
        return None if change.achieved is None else f"is {now.value}, so nothing of it can have happened"
    if change.achieved is None and change.status not in _GIVEN_UP:
        return "needs the amount achieved so far"
    return None


def why_not_amount(amount: float, achieved: float, *, is_share: bool) -> str | None:
    """Return why `achieved` cannot have happened of an event of this amount, or None if it can.

    More than planned may happen, because servers are whole.
    """
    if achieved * amount < 0:
        return f"must have the sign of the event's amount, {amount:+g}"
    if is_share and achieved > 1:
        return "must be a share of at most 1"
    return None
