"""Unavailability of servers, and the health and maintenance events that cause it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from libs.domain.maintenance import MaintenanceAnswer, Newcomers


class Unavailability(StrEnum):
    """Unavailability of a server. PLANNED counts as usable capacity: the embedded buffer covers it (RAS, 3.3.1)."""

    NONE = "none"
    PLANNED = "planned"
    UNPLANNED = "unplanned"


class UnavailabilityScope(StrEnum):
    """The extent of an event: of the kinds that every region has. A further kind of domain is a scope by its name."""

    SERVER = "server"
    RACK = "rack"
    MSB = "msb"
    DATACENTER = "datacenter"


class EventState(StrEnum):
    """Whether an event may take effect. A planned one asks first; an unplanned one is always ALLOWED."""

    ANNOUNCED = "announced"
    """The event is planned for later. It asks when it is due."""
    QUEUED = "queued"
    AWAITING_APPROVAL = "awaiting_approval"
    """An override of the rules of maintenance that waits for a second person."""
    ALLOWED = "allowed"
    """The event takes effect from `starts_at` until it ends."""
    REFUSED = "refused"
    """The event has ended without taking effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnavailabilityEvent:
    """A health or maintenance event over a scope.

    scope      a value of UnavailabilityScope, or a further kind of domain
    kind       planned or unplanned
    ends_at    expected end; None: not known
    ended_at   true end; None: still open
    answer     the rules' answer to planned maintenance; None: not asked yet, or an event that need not ask
    newcomers  servers that maintenance under way does not take, because they came later; None: there are none
    """

    unavailability_event_id: int
    region: str
    scope: str
    scope_name: str
    kind: Unavailability
    reason: str
    starts_at: datetime
    ends_at: datetime | None
    ended_at: datetime | None
    generation: int
    state: EventState
    answer: MaintenanceAnswer | None
    newcomers: Newcomers | None = None
