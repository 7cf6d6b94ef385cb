"""Planned maintenance as a request: the facts when it is asked, and the answer. See docs/designs/0023."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from libs.domain.arrays import Floats, Ints, Names


class MaintenanceVerdict(StrEnum):
    """The answer to a request for maintenance."""

    NOW = "now"
    QUEUED = "queued"
    REFUSED = "refused"


class MaintenanceReason(StrEnum):
    """The rule that decided. Clients match it."""

    ALLOWED = "Allowed"
    SEVERAL_MSBS = "SeveralMsbs"
    ABOVE_QUARTER = "AboveQuarter"
    BEHIND = "Behind"
    MSB_DOWN = "MsbDown"
    OTHER_MSB = "OtherMsb"
    QUARTER_IN_USE = "QuarterInUse"
    WOULD_BE_SHORT = "WouldBeShort"
    TOO_FEW_SPARES = "TooFewSpares"
    NO_SLOT = "NoSlot"
    """Of schedules only: no time is left for it."""


LASTING_REASONS = frozenset({MaintenanceReason.SEVERAL_MSBS, MaintenanceReason.ABOVE_QUARTER})
"""Reasons of a refusal that waiting does not remove: only a change of the fleet does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Underway:
    """A planned event that has begun. `ends_at` is the expected end; None: not known."""

    unavailability_event_id: int
    msbs: frozenset[int]
    """Rows of the event's MSBs in `MaintenanceGround.msb`."""
    ends_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareServers:
    """The servers of a hardware type in shared buffers that are not down.

    in_maintenance   those of them in planned maintenance
    asked            those of the request that are not in maintenance yet
    """

    hardware_type: str
    servers: int
    in_maintenance: int
    asked: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaintenanceGround:
    """The facts behind the answer to one request. M MSBs of a region; R reservations that hold servers of the request.

    msb             (M,) str   names
    servers         (M,) int   servers in the fleet
    in_maintenance  (M,) int   servers in planned maintenance that has begun
    down            (M,) int   servers that are down for an unplanned reason
    asked           (M,) int   servers of the request that are not in maintenance yet
    underway                   planned events that have begun
    of_event                   the event among them that asks for its newcomers; None: a request of its own asks
    is_domain                  the request is of a domain of a further kind, which may stand in several MSBs
    reservation     (R,) str   names
    granted_rru     (R,) RRU   promised: what was granted of what is asked for
    held_rru        (R,) RRU   capacity of the servers that are up and have joined
    gone_rru        (R,) RRU   part of `held_rru` in servers of the request, and in servers that a running move takes
                               away
    spares                     of each hardware type of which the request takes spare servers
    """

    msb: Names
    servers: Ints
    in_maintenance: Ints
    down: Ints
    asked: Ints
    underway: tuple[Underway, ...]
    of_event: int | None = None
    is_domain: bool = False
    reservation: Names
    granted_rru: Floats
    held_rru: Floats
    gone_rru: Floats
    spares: tuple[SpareServers, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceAnswer:
    """The answer to one request.

    message     for people: why, and what to do
    waits_for   ids of the events that the maintenance waits for
    short_rru   reservation -> RRU that the reservation would lack of its promise
    position    place in the queue, from 1; None: the request is not queued
    begins_at   estimated beginning of the maintenance; None: not queued, or not known
    """

    verdict: MaintenanceVerdict
    reason: MaintenanceReason
    message: str
    waits_for: tuple[int, ...] = ()
    short_rru: Mapping[str, float] = field(default_factory=dict)
    position: int | None = None
    begins_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomers:
    """Servers that got their place in the scope of maintenance after it was allowed. It does not take them yet.

    servers   number of those that are in no maintenance
    answer    the answer to a request for them
    """

    servers: int
    answer: MaintenanceAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceNeed:
    """The need of reservations for servers that are in planned maintenance.

    short_rru   reservation -> RRU that it holds less than its promise, with servers of it in maintenance; most first
    underway    ids of the planned events that have begun
    """

    short_rru: Mapping[str, float]
    underway: tuple[int, ...]
