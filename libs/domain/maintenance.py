"""Planned maintenance as a request: what is known when it is asked, and its answer. See docs/designs/0023."""

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


LASTING_REASONS = frozenset({MaintenanceReason.SEVERAL_MSBS, MaintenanceReason.ABOVE_QUARTER})
"""Reasons that do not pass with time, as long as the fleet stays as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Underway:
    """A planned event that has begun. ends_at: its expected end; None: not known."""

    unavailability_event_id: int
    msbs: frozenset[int]
    """Rows of the ground's MSBs."""
    ends_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MaintenanceGround:
    """The facts behind the answer to one request. M MSBs of a region; R reservations that hold servers of the request.

    msb             (M,) str   names
    servers         (M,) int   in the fleet
    in_maintenance  (M,) int   in planned maintenance that has begun
    down            (M,) int   down for an unplanned reason
    asked           (M,) int   of the request, and not in maintenance yet
    underway                   planned events that have begun
    reservation     (R,) str   names
    capacity_rru    (R,) RRU   promised
    held_rru        (R,) RRU   of servers that are up and have joined
    gone_rru        (R,) RRU   of them, in the request or leaving by a running move
    """

    msb: Names
    servers: Ints
    in_maintenance: Ints
    down: Ints
    asked: Ints
    underway: tuple[Underway, ...]
    reservation: Names
    capacity_rru: Floats
    held_rru: Floats
    gone_rru: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceAnswer:
    """The answer to one request.

    message     for people: why, and what to do
    waits_for   ids of the events that it waits for
    short_rru   reservation -> RRU that it would lack of its promise
    position    place in the queue, from 1; None: it is not queued
    begins_at   estimate of its beginning; None: not queued, or not known
    """

    verdict: MaintenanceVerdict
    reason: MaintenanceReason
    message: str
    waits_for: tuple[int, ...] = ()
    short_rru: Mapping[str, float] = field(default_factory=dict)
    position: int | None = None
    begins_at: datetime | None = None
