"""Whether a reservation holds what it asks for now, and since when. The module defines the states and the rule that
decides between them. While a request waits for servers, only the granted part of it is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from libs.domain.region_condition import ConditionStatus
from libs.domain.reservation import ROUNDING, Coverage

AVAILABILITY_WINDOW = timedelta(days=30)
"""Time over which the availability of a reservation is computed."""


class Readiness(StrEnum):
    """The states of a reservation, which are the reasons of the condition Ready."""

    HELD = "Held"
    """All that is asked for is held."""
    SURVIVES_LOSS = "SurvivesLoss"
    """All of it is held although one whole MSB is missing."""
    NOT_THERE_YET = "NotThereYet"
    """Not all of it is held, and no promise was lost: it was not held since the reservation was created or changed, or
    it waits for its grant."""
    CAPACITY_LOST = "CapacityLost"
    """The promise is not held now, but the same promise was held before."""
    NOTHING_PROMISED = "NothingPromised"
    """The reservation's window has not begun, or the reservation was deleted."""
    NOT_WATCHED = "NotWatched"
    """The state is not known, because the platform did not look at the reservation."""

    @property
    def status(self) -> ConditionStatus:
        """Return the status of the condition Ready."""
        if self in READY:
            return ConditionStatus.TRUE
        return ConditionStatus.FALSE if self in NOT_READY else ConditionStatus.UNKNOWN


READY = (Readiness.HELD, Readiness.SURVIVES_LOSS)
NOT_READY = (Readiness.NOT_THERE_YET, Readiness.CAPACITY_LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessRecord:
    """A state of a reservation, from a time on: one row of its history.

    since_at                 since when Ready has this status, through any number of rows
    observed_generation      generation of the spec
    capacity_rru             asked for
    granted_rru              promised: what was granted of it; None: an earlier version wrote the record, without that
    held_rru                 capacity of the reservation's servers that are up; None: not watched
    held_after_msb_loss_rru  `held_rru` without the MSB that gives most of it
    ready_s                  seconds before from_at, since the history began, in which all that was asked for was held
    watched_s                seconds before from_at in which something was asked for and watched
    """

    from_at: datetime
    since_at: datetime
    readiness: Readiness
    observed_generation: int
    capacity_rru: float
    granted_rru: float | None
    held_rru: float | None
    held_after_msb_loss_rru: float | None
    ready_s: float = 0.0
    watched_s: float = 0.0

    def sums_at(self, at: datetime) -> tuple[float, float]:
        """Return ready_s and watched_s at the time `at`. The record must be in force at that time."""
        passed_s = (at - self.from_at).total_seconds()
        is_watched = self.readiness in (*READY, *NOT_READY)
        return self.ready_s + passed_s * (self.readiness in READY), self.watched_s + passed_s * is_watched

    def is_like(self, other: ReadinessRecord) -> bool:
        """Return whether `other` states the same as this record, apart from times and rounding."""
        slack = ROUNDING * max(self.capacity_rru, 1.0)
        mine, others = (
            (one.capacity_rru, one.granted_rru, one.held_rru, one.held_after_msb_loss_rru) for one in (self, other)
        )
        return (self.readiness, self.observed_generation) == (other.readiness, other.observed_generation) and all(
            a == b or (a is not None and b is not None and abs(a - b) <= slack)
            for a, b in zip(mine, others, strict=True)
        )


def readiness_of(
    held: Coverage,
    *,
    capacity_rru: float,
    granted_rru: float,
    is_promised: bool,
    generation: int,
    last: ReadinessRecord | None,
) -> Readiness:
    """Return the state of a reservation.

    held          coverage of the reservation by its current servers that are up
    capacity_rru  asked for
    granted_rru   promised: what was granted of it; less only while the request waits for servers
    is_promised   whether its window has begun, and it was not deleted
    last          last record of the reservation: with it, a lost promise differs from a promise that was never reached
    """
    if not is_promised:
        return Readiness.NOTHING_PROMISED
    if held.shortfall_rru == 0:
        return Readiness.HELD
    if held.keeps(capacity_rru):
        return Readiness.SURVIVES_LOSS
    if last is None:
        return Readiness.NOT_THERE_YET
    if granted_rru < capacity_rru:
        is_lost = not held.keeps(capacity_rru, granted_rru) and _was_held(last, granted_rru, held)
    else:
        is_lost = last.observed_generation == generation and last.readiness in (*READY, Readiness.CAPACITY_LOST)
    return Readiness.CAPACITY_LOST if is_lost else Readiness.NOT_THERE_YET


def _was_held(last: ReadinessRecord, granted_rru: float, held: Coverage) -> bool:
    """Return whether the granted part of a request that waits was held at the last record, or was lost by then.

    The grant is older than the request, so the generation of the record does not matter. A record has no resources and
    no further kinds of domain, so the RRU that it has decide.
    """
    least = granted_rru * (1.0 - ROUNDING)
    if last.readiness in READY and last.capacity_rru >= least:
        return True
    had_rru = last.held_after_msb_loss_rru if held.survives_msb_loss else last.held_rru
    return last.readiness is Readiness.CAPACITY_LOST or (had_rru is not None and had_rru >= least)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessInterval:
    """A record with the end of its interval. `until_at` is the start of the next record. For the last record, it is the
    time of the last look.
    """

    record: ReadinessRecord
    until_at: datetime


@dataclass(frozen=True, slots=True)
class Availability:
    """The seconds in which all that was asked for was held, and those in which something was asked for and watched."""

    ready_s: float = 0.0
    watched_s: float = 0.0

    @property
    def share(self) -> float | None:
        """Return the share of the watched time in which all of it was held; None if the reservation was never
        watched.
        """
        return min(self.ready_s / self.watched_s, 1.0) if self.watched_s > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReadiness:
    """The guaranteed reservations of a region at the last look: the number of reservations in each state, and sums.

    capacity_lost  of them, those that hold less than their promise and held it before
    missing_rru    sum of the capacity that reservations lack of what they ask for; guests count with their hosts
    """

    watched_until: datetime
    ready: int = 0
    not_there_yet: int = 0
    capacity_lost: int = 0
    capacity_rru: float = 0.0
    held_rru: float = 0.0
    held_after_msb_loss_rru: float = 0.0
    missing_rru: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessHistory:
    """The recorded part of a reservation's status. `last` is the last record; None before the first look."""

    last: ReadinessRecord | None = None
    availability: Availability = Availability()
