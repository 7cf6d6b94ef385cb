"""The coming changes of a region: which reservations end, and which begin. See docs/designs/0056."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np

from libs.domain.arrays import Bools, Indices
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec


def horizon_end(policy: RegionPolicy, *, now: datetime) -> datetime:
    """Return the latest start for which servers are booked now."""
    return now + timedelta(seconds=policy.booking_horizon_s)


def is_beyond_horizon(starts_at: datetime, policy: RegionPolicy, *, now: datetime, promised: datetime | None) -> bool:
    """Return whether a start is too far ahead for a booking. A shorter horizon takes no promise back.

    promised   the start that the reservation was promised; None: none was
    """
    kept = promised is not None and starts_at <= promised
    return not kept and starts_at > horizon_end(policy, now=now)


@dataclass(frozen=True, slots=True)
class Window:
    """A time in which a reservation needs servers, in seconds since 1970. An end of inf is none."""

    from_s: float
    until_s: float = math.inf

    def overlaps(self, other: Window) -> bool:
        """Return whether the two windows have a moment in common."""
        return self.from_s < other.until_s and other.from_s < self.until_s


def window_of(spec: ReservationSpec, policy: RegionPolicy, *, now: datetime, begun: bool) -> Window:
    """Return the window in which a reservation needs its servers. One that has begun needs them from now on."""
    until_s = math.inf if spec.ends_at is None else spec.ends_at.timestamp()
    if begun or spec.starts_at is None:
        return Window(now.timestamp(), until_s)
    return Window(max(now.timestamp(), spec.starts_at.timestamp() - policy.booking_lead_s), until_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windowed:
    """A reservation with the window in which it needs servers, and the servers that are kept for it until then.

    reservation_id         None: the reservation is not stored yet
    rows        (N,) int   the servers, as rows of a snapshot; none for a reservation that has begun
    is_promise  whether they covered the reservation when they were booked
    short_rru   RRU that the reservation lacked then
    """

    reservation_id: int | None
    name: str
    generation: int
    spec: ReservationSpec
    window: Window
    rows: Indices = field(default_factory=lambda: np.zeros(0, np.int32))
    is_promise: bool = False
    short_rru: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calendar:
    """The coming changes of a region: which reservations end, and which servers are kept for others.

    ends_s      name -> end of each reservation that has begun and ends, in seconds since 1970
    scheduled   the reservations that have not begun
    """

    now_s: float
    ends_s: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    scheduled: tuple[Windowed, ...] = ()

    def without(self, *names: str) -> Calendar:
        """Return the calendar without the scheduled reservations of these names."""
        return replace(self, scheduled=tuple(one for one in self.scheduled if one.name not in names))

    def with_scheduled(self, one: Windowed) -> Calendar:
        """Return the calendar with one more scheduled reservation."""
        return replace(self, scheduled=(*self.scheduled, one))

    def with_end(self, name: str, end_s: float) -> Calendar:
        """Return the calendar in which the reservation `name` ends at `end_s`."""
        return replace(self, ends_s=MappingProxyType({**self.ends_s, name: end_s}))

    def with_bookings(self, new: Iterable[NewBooking]) -> Calendar:
        """Return the calendar with these bookings of reservations that it has."""
        of = {one.name: one for one in new}
        kept = (replace(one, **of[one.name].kept) if one.name in of else one for one in self.scheduled)
        return replace(self, scheduled=tuple(kept))

    def overlapping(self, window: Window) -> tuple[Windowed, ...]:
        """Return the scheduled reservations that need servers in a part of `window`."""
        return tuple(one for one in self.scheduled if one.window.overlaps(window))

    def kept(self, window: Window, servers: int) -> Bools:
        """Return a (S,) mask of the servers that are kept for others in a part of `window`."""
        kept = np.zeros(servers, bool)
        for one in self.overlapping(window):
            kept[one.rows] = True
        return kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewBooking:
    """A booking to store. It replaces what was kept for the reservation before.

    reservation_id   None: the reservation is not stored yet
    rows  (N,) int   the servers, as rows of a snapshot
    """

    reservation_id: int | None
    name: str
    generation: int
    rows: Indices
    is_promise: bool
    reason: str
    message: str
    numbers: Mapping[str, float]

    @property
    def kept(self) -> dict[str, Any]:
        """Return the fields of a Windowed that the booking decides."""
        return {
            "rows": self.rows,
            "is_promise": self.is_promise,
            "short_rru": self.numbers.get("short_rru", math.inf),
        }
