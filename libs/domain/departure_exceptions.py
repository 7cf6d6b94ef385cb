"""Departures below *hold*: a plan names them, an operator approves them, and the mover carries out no others. See
docs/designs/0032.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

import numpy as np

from libs.domain.arrays import Bools, Ints
from libs.domain.reservation import ROUNDING

WINDOW_S_MIN, WINDOW_FACTOR = 3600.0, 4.0
"""After its approval, an exception holds for this multiple of the time that the plan foresees, and at least so long."""


def below_what(below_rru: float, *, asked_rru: float, granted_rru: float) -> tuple[float, str]:
    """Return how many RRU a reservation holds below what: its promise, what was granted of it, or its request.

    below_rru    RRU below what it asks for
    granted_rru  granted so far; less than `asked_rru` while its request waits
    """
    if granted_rru >= asked_rru:
        return below_rru, "its promise"
    below_granted_rru = below_rru - (asked_rru - granted_rru)
    if below_granted_rru > ROUNDING * asked_rru:
        return below_granted_rru, "what was granted of it"
    return below_rru, "its request"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptedReservation:
    """The part of one reservation in the exceptions of a plan.

    below_rru  the most RRU that it may hold below what it asks for, which is its promise unless its request waits; 0:
               its servers only wait for those of others
    seconds    expected time below its promise, or below what it holds now if that is less
    servers    its servers that go only with the approval
    """

    reservation_id: int
    reservation: str
    below_rru: float
    seconds: float
    servers: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exceptions:
    """The moves of a plan that go only if an operator approves that reservations fall below *hold*.

    seconds    expected time of all of their waves
    server_id, from_id, to_id   (K,) int   the servers that leave below *hold*, and their reservations; `to_id` 0: free
    """

    reservations: tuple[ExceptedReservation, ...]
    seconds: float
    server_id: Ints
    from_id: Ints
    to_id: Ints

    @property
    def window_s(self) -> float:
        """Return for how long the mover may begin these moves once they are approved."""
        return max(WINDOW_S_MIN, WINDOW_FACTOR * self.seconds)

    def covers(self, other: Exceptions) -> bool:
        """Return whether all of `other` is part of these exceptions: the same servers or fewer, by the same amounts or
        less.
        """
        most = {one.reservation_id: one.below_rru for one in self.reservations}
        mine = set(zip(self.server_id.tolist(), self.from_id.tolist(), self.to_id.tolist(), strict=True))
        theirs = zip(other.server_id.tolist(), other.from_id.tolist(), other.to_id.tolist(), strict=True)
        return mine.issuperset(theirs) and all(
            one.below_rru <= most.get(one.reservation_id, -1.0) * (1.0 + 1e-9) for one in other.reservations
        )


class ExceptionState(StrEnum):
    """The state of the exceptions of a region's plan."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    OVER = "over"
    """They were approved, and their time has passed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredExceptions:
    """The latest exceptions of a region, which no newer plan has superseded.

    decided_at   when they were approved or rejected
    window_s     time after `decided_at` in which the mover may begin the moves
    """

    approval_id: int
    is_rejected: bool
    decided_at: datetime | None
    window_s: float
    exceptions: Exceptions
    _below_rru: Mapping[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        amounts = {one.reservation_id: one.below_rru for one in self.exceptions.reservations}
        object.__setattr__(self, "_below_rru", amounts)

    def state(self, now: datetime) -> ExceptionState:
        """Return the state at a time of the Clock."""
        if self.decided_at is None:
            return ExceptionState.PENDING
        if self.is_rejected:
            return ExceptionState.REJECTED
        is_over = now > self.decided_at + timedelta(seconds=self.window_s)
        return ExceptionState.OVER if is_over else ExceptionState.APPROVED

    def names(self, reservation_id: int) -> bool:
        """Return whether servers of the reservation wait for these exceptions."""
        return reservation_id in self._below_rru

    def below_rru(self, reservation_id: int) -> float:
        """Return the most RRU that the reservation may hold below what it asks for."""
        return self._below_rru.get(reservation_id, 0.0)

    def lists(self, server_id: Ints, from_id: Ints, to_id: Ints) -> Bools:
        """Return which of N servers may leave below *hold*: the named ones, on the named way."""
        known = self.exceptions
        if not len(known.server_id):
            return np.zeros(len(server_id), bool)
        row = np.minimum(np.searchsorted(known.server_id, server_id), len(known.server_id) - 1)
        is_same = (known.server_id[row] == server_id) & (known.from_id[row] == from_id)
        return np.asarray(is_same & (known.to_id[row] == to_id))
