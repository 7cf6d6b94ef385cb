"""The past of a region: the capacity that reservations asked for, were granted and held, and the moves of each day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPeriod:
    """A period of time, with figures of the guaranteed reservations. They are None if nothing was watched in it.

    begins_at      begin of the period; it lasts until the next one begins
    capacity_rru   asked for, granted or not, at the end of the period
    granted_rru    promised: what was granted of that; None also if a record of an earlier version does not say it
    missing_rru    the most that was asked for and not held at a time of the period
    """

    begins_at: datetime
    capacity_rru: float | None
    granted_rru: float | None
    missing_rru: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesOfDay:
    """Moves that began on a day in UTC, and preemptions of that day that counted against the churn budget."""

    day: date
    moves: int
    preemptions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionHistory:
    """The past of a region, until the last look at what it holds.

    periods   of equal length, the oldest first; () before the first look
    days      every day that the time touches, the oldest first
    """

    begins_at: datetime
    ends_at: datetime
    periods: tuple[HeldPeriod, ...]
    days: tuple[MovesOfDay, ...]
