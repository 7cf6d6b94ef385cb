"""Decide which servers may leave their reservations in one tick of the mover. Pure. See docs/designs/0020.

At the level *survive*, a reservation keeps its capacity even after the loss of an MSB. At the level *hold*, it keeps
its capacity while all MSBs are up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from libs.domain.holding import Holding
from libs.domain.move import MoveStep, RunningMove
from services.mover.guard import Guard


class Departures:
    """The departures of servers in one tick. A server may leave if its reservation stays at the level *survive*.
    Otherwise servers leave one at a time, at the level *hold*.

    overdue            True: operators allow departures below *hold* after a wait, and the wait is over
    relieved_running   running moves whose preempt is allowed at the level *hold*
    """

    def __init__(self, holdings: Iterable[Holding], running: Sequence[RunningMove], *, overdue: bool = False) -> None:
        self._guard, self._overdue = Guard(holdings), overdue
        self._waits: Counter[int] = Counter()
        self._held_back: list[RunningMove] = []
        self._arriving = {
            move.to_reservation_id
            for move in running
            if move.to_reservation_id is not None and (move.asked or move.step is not MoveStep.PREEMPT)
        }
        """Ids of reservations that servers are joining. A server that has not left its old reservation yet does not
        count, because it may have to wait itself.
        """
        self._leaving = {
            move.from_reservation_id
            for move in running
            if move.from_reservation_id is not None and move.step is MoveStep.PREEMPT and move.asked
        }
        self.relieved_running: list[RunningMove] = []

    def allow(self, reservation_id: int, msb_id: int, rru: float) -> bool:
        """Return whether a server may leave now. If it may, count it as gone. If its reservation cannot spare the
        server, note that the server waits.
        """
        if not self._guard.may_leave(reservation_id, msb_id, rru):
            self._waits[reservation_id] += 1
            return False
        self._let_go(reservation_id, msb_id, rru)
        return True

    def allow_running(self, move: RunningMove) -> bool:
        """Return whether the server of a running move may leave now. The check is needed again, because the reservation
        may have lost other servers since the move started.
        """
        assert move.from_reservation_id is not None
        allowed = self.allow(move.from_reservation_id, move.msb_id, move.leaves_rru)
        if allowed:
            self.arrive([move.to_reservation_id or 0])
        else:
            self._held_back.append(move)
        return allowed

    def arrive(self, reservation_ids: Iterable[int]) -> None:
        """Note that servers are on their way to the reservations `reservation_ids`. An id of 0 stands for no
        reservation.
        """
        self._arriving |= set(reservation_ids) - {0}

    def relieve(self, reservation_id: int, msb_id: int, rru: float) -> bool:
        """Let one waiting server leave at the level *hold*, if nothing leaves its reservation and nothing arrives.

        Let a server leave below the level *hold* only if the wait is overdue.
        """
        if reservation_id in self._arriving or reservation_id in self._leaving:
            return False
        if not self._overdue and not self._guard.may_leave(reservation_id, msb_id, rru, hold=True):
            return False
        self._waits[reservation_id] -= 1
        self._let_go(reservation_id, msb_id, rru)
        return True

    def relieve_running(self) -> None:
        """Let servers of running moves leave at the level *hold*, by the rules of `relieve`."""
        for move in self._held_back:
            assert move.from_reservation_id is not None
            if self.relieve(move.from_reservation_id, move.msb_id, move.leaves_rru):
                self.relieved_running.append(move)

    def waits(self) -> dict[str, int]:
        """Return the number of servers that wait, by the name of their reservation."""
        return {self._guard.name(r): number for r, number in sorted(self._waits.items()) if number > 0}

    def _let_go(self, reservation_id: int, msb_id: int, rru: float) -> None:
        self._guard.let_go(reservation_id, msb_id, rru)
        self._leaving.add(reservation_id)
