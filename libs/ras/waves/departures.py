"""Decide which servers may leave their reservations at one moment. Pure. See docs/designs/0020 and 0027.

At the level *survive*, a reservation keeps its capacity even after the worst loss that it is to survive: of an MSB, or
of a domain of a further kind. At the level *hold*, it keeps its capacity while all domains are up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

from libs.domain.holding import Place
from libs.domain.move import MoveStep, RunningMove
from libs.domain.reservation import ROUNDING
from libs.domain.waves import FEW_SHARE
from libs.ras.waves.guard import Guard


class Departures:
    """The departures of servers in one tick of the mover, or in one wave of a plan. A server may leave if its
    reservation stays at the level *survive*. Otherwise few servers leave at a time, at the level *hold*.

    held_back          running moves whose preempt is not allowed at the level *survive*
    relieved_running   running moves whose preempt is allowed at the level *hold*
    exceeding_running  running moves whose preempt is allowed below *hold*
    """

    def __init__(self, guard: Guard, running: Sequence[RunningMove] = ()) -> None:
        self._guard = guard
        self._refused: set[tuple[int, Place, float, bool, bool]] = set()
        self._relieved_rru: dict[int, float] = {}
        self.held_back: list[RunningMove] = []
        # A server that has not left its old reservation yet does not count, because it may have to wait itself.
        gone = [move for move in running if move.asked or move.step is not MoveStep.PREEMPT]
        self._arriving = {move.to_reservation_id for move in gone if move.to_reservation_id is not None}
        self._leaving = {move.from_reservation_id for move in gone if move.from_reservation_id is not None}
        self._queued: Collection[int] = ()
        self._owed: Mapping[int, Collection[int]] = {}
        self._yielding = set[int]()
        self.relieved_running: list[RunningMove] = []
        self.exceeding_running: list[RunningMove] = []

    def allow(
        self, reservation_id: int, place: Place, rru: float, *, hurried: bool = False, yields: bool = False
    ) -> bool:
        """Return whether a server may leave now. If it may, count it as gone.

        hurried   True: an operator wants it out at once, so the level *hold* is enough
        yields    True: it goes from a request that waits to a reservation that was granted what it asks for
        """
        # Departures only lower levels, so a refusal holds for all servers like it.
        like = (reservation_id, place, rru, hurried, yields)
        if like in self._refused or not self._guard.may_leave(reservation_id, place, rru, hold=hurried, yields=yields):
            self._refused.add(like)
            return False
        self._let_go(reservation_id, place, rru)
        return True

    def allow_running(self, move: RunningMove, *, hurried: bool = False, yields: bool = False) -> bool:
        """Return whether the server of a running move may leave now. The check is needed again, because the reservation
        may have lost other servers since the move started.
        """
        assert move.from_reservation_id is not None
        allowed = self.allow(move.from_reservation_id, move.place, move.leaves_rru, hurried=hurried, yields=yields)
        if allowed:
            self.arrive([move.to_reservation_id or 0])
        else:
            self.held_back.append(move)
            self._yielding |= {move.server_id} if yields else set()
        return allowed

    def arrive(self, reservation_ids: Iterable[int]) -> None:
        """Note that servers are on their way to the reservations `reservation_ids`. An id of 0 stands for no
        reservation.
        """
        self._arriving |= set(reservation_ids) - {0}

    def expect(self, reservation_ids: Collection[int]) -> None:
        """Note the reservations for which free servers wait because of the bounds alone. Moves that are held back count
        against these bounds. So while there are any, none of them waits for what such a reservation owes.
        """
        self._queued = reservation_ids

    def owe(self, owed: Mapping[int, Collection[int]]) -> None:
        """Note which servers wait to go from one reservation to another: the ids of the givers, by the id of the one
        that is to get them.
        """
        self._owed = owed

    def is_idle(self, reservation_id: int) -> bool:
        """Return whether no server is on its way to the reservation or from it, apart from those that `relieve` let
        go.
        """
        left = reservation_id in self._leaving and reservation_id not in self._relieved_rru
        return not (left or reservation_id in self._arriving or reservation_id in self._queued)

    def will_get(self, reservation_id: int) -> bool:
        """Return whether a reservation in motion owes this one a server. At rest, it may give it at *survive*.
        So of several reservations that exchange servers, one alone goes at *hold*.
        """
        givers = self._owed.get(reservation_id, ())
        queued = () if self.held_back else self._queued
        return any(giver in self._arriving or giver in self._leaving or giver in queued for giver in givers)

    def is_at_rest(self, reservation_id: int) -> bool:
        """Return whether a first server may leave the reservation at *hold*: it is idle, and gets nothing soon."""
        return self.is_idle(reservation_id) and not self.will_get(reservation_id)

    def relieve(self, reservation_id: int, place: Place, rru: float, *, yields: bool = False, to: int = 0) -> bool:
        """Let a waiting server leave at the level *hold*, if nothing else leaves its reservation, and nothing arrives
        there or soon may. At most FEW_SHARE of the promise leaves so at a time, and at least one server.

        to   the reservation that gets it. 0: before asking about another reservation, tell `arrive` where it goes
        """
        may_leave = self._is_few(reservation_id, rru) and self._guard.may_leave(
            reservation_id, place, rru, hold=True, yields=yields
        )
        if may_leave:
            self._count_few(reservation_id, place, rru, to)
        return may_leave

    def exceed(
        self,
        reservation_id: int,
        place: Place,
        rru: float,
        *,
        yields: bool = False,
        to: int = 0,
        below_rru: float = math.inf,
    ) -> bool:
        """Let a waiting server leave below the level *hold*, by the other rules of `relieve`. An operator must have
        approved that.

        to          as in `relieve`
        below_rru   the most RRU that the reservation may then hold below its capacity
        """
        if not self._is_few(reservation_id, rru):
            return False
        if not self._guard.may_leave(reservation_id, place, rru, hold=True, yields=yields):
            held_rru = self._guard.level(reservation_id, survive=False) - rru
            promise_rru = self._guard.capacity_rru(reservation_id)
            if held_rru < promise_rru - below_rru - ROUNDING * promise_rru:
                return False
        self._count_few(reservation_id, place, rru, to)
        return True

    def relieve_running(self, kept: Container[int] = ()) -> None:
        """Let servers of running moves leave at the level *hold*, by the rules of `relieve`, but not the servers
        `kept`.
        """
        for move in self._by_lack(self.held_back):
            assert move.from_reservation_id is not None
            worth, yields = (move.from_reservation_id, move.place, move.leaves_rru), move.server_id in self._yielding
            if move.server_id not in kept and self.relieve(*worth, yields=yields, to=move.to_reservation_id or 0):
                self.relieved_running.append(move)

    def exceed_running(self, moves: Iterable[RunningMove], below_rru: Callable[[int], float]) -> None:
        """Let servers of running moves that are held back leave below *hold*, by the rules of `exceed`.

        below_rru   the most RRU that a reservation may hold below its capacity, by its id
        """
        for move in self._by_lack(moves):
            r = move.from_reservation_id
            assert r is not None
            yields, to = move.server_id in self._yielding, move.to_reservation_id or 0
            if self.exceed(r, move.place, move.leaves_rru, yields=yields, to=to, below_rru=below_rru(r)):
                self.exceeding_running.append(move)

    def _by_lack(self, moves: Iterable[RunningMove]) -> list[RunningMove]:
        """Return the moves in order, first those of the reservation that would lack the smallest share of its
        promise.
        """
        return sorted(moves, key=lambda move: self._guard.lack_share(move.from_reservation_id or 0, move.leaves_rru))

    def _is_few(self, reservation_id: int, rru: float) -> bool:
        before_rru = self._relieved_rru.get(reservation_id)
        if before_rru is None:
            return self.is_at_rest(reservation_id)
        most_rru = FEW_SHARE * self._guard.capacity_rru(reservation_id)
        return self.is_idle(reservation_id) and before_rru + rru <= most_rru

    def _count_few(self, reservation_id: int, place: Place, rru: float, to: int) -> None:
        self._relieved_rru[reservation_id] = self._relieved_rru.get(reservation_id, 0.0) + rru
        self._let_go(reservation_id, place, rru)
        if to != reservation_id:  # one that comes back is one of the few: the others need not wait for it
            self.arrive([to])

    def _let_go(self, reservation_id: int, place: Place, rru: float) -> None:
        self._guard.let_go(reservation_id, place, rru)
        self._leaving.add(reservation_id)
