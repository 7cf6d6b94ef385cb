"""Choose the spare servers through which a reservation can give others away. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.holding import Place
from libs.domain.reservation import ROUNDING
from libs.domain.spare import SPARES_MAX
from libs.domain.waves import FEW_SHARE, NONE
from libs.ras.waves.guard import Guard

_TRIES = 3
"""Servers that differ and that no spare helps, after which the others are not tried."""


class Leaver(NamedTuple):
    """A server that waits to leave a reservation for another one.

    place, rru   its domains, and what its reservation loses
    yields       True: it goes from a request that waits to a granted reservation (docs/designs/0064)
    """

    place: Place
    rru: float
    yields: bool = False


class IdleKinds:
    """C kinds of idle servers, in order of preference, and how many of each are left. Servers of a kind are alike.

    place    (C, L) int their domains, as in `libs.domain.holding.Place`
    number   (C,) int   how many there are
    """

    def __init__(self, place: Ints, buffer: Ints, number: Ints, room: Mapping[int, int]) -> None:
        """Note the servers.

        buffer   (C,) the shared buffer of each kind; NONE: they are free
        room     shared buffer -> number of its servers that may be lent; absent: none
        """
        self.place, self.number = place, number.copy()
        homes, self._home = np.unique(buffer, return_inverse=True)
        self._room = np.array([np.inf if home == NONE else room.get(home, 0) for home in homes.tolist()])
        self._is_free = buffer == NONE

    def copy(self) -> IdleKinds:
        """Return the same servers, to be counted apart."""
        other = copy(self)
        other.number, other._room = self.number.copy(), self._room.copy()
        return other

    def count(self, kind: int, number: int) -> None:
        """Add servers of a kind that came back, or with a number below 0 take away those that were lent."""
        self.number[kind] += number
        self._room[self._home[kind]] += number

    def lendable(self, rru: Floats, *, buffers: bool) -> Bools:
        """Return of which kinds (C,) one more server may be lent.

        rru       (C,) worth of a server of each kind to the borrower; 0: of no use
        buffers   False: free servers alone
        """
        return np.asarray((rru > 0) & (self.number > 0) & (self._is_free | (buffers & (self._room[self._home] > 0))))


def in_turn(guard: Guard, reservations: Iterable[int]) -> list[int]:
    """Return the ids in the order in which they borrow: first the reservation that lacks least at *survive*, because
    few spares help it.
    """
    return sorted(reservations, key=lambda r: (guard.keeps_rru(r) - guard.level(r, survive=True), r))


def choose_spares(
    guard: Guard,
    reservation_id: int,
    waiting: Sequence[Leaver],
    idle: IdleKinds,
    rru: Floats,
    *,
    most: int = SPARES_MAX,
) -> list[int]:
    """Return the kinds of the servers to lend to an idle reservation, a kind for each server, at most `most`. With them
    as many of the `waiting` servers can leave at a time as `most` spares allow, at the level *survive*. If none can,
    but one could leave at *hold* with spares and none can without, lend for that. Return [] if no spare helps.

    Servers of shared buffers, which replace lost servers, are lent only if free ones alone do not help. The guard is as
    before afterwards.

    rru   (C,) worth of a server of each kind of `idle` to the reservation; 0: of no use
    """
    goes_at_hold = any(guard.may_leave(reservation_id, *one[:2], hold=True, yields=one.yields) for one in set(waiting))
    for hold in (False,) if goes_at_hold else (False, True):
        for buffers in (False, True):
            if chosen := _Trial(guard, reservation_id, idle.copy(), rru, buffers, hold).choose(waiting, most):
                return chosen
    return []


class _Trial:
    """The spares that one reservation would get, and the servers that would then leave it.

    All spares are in place before the first server leaves. A reservation below its promise must keep what it holds
    then, so what is lent to it raises what it must keep.
    """

    def __init__(self, guard: Guard, r: int, idle: IdleKinds, rru: Floats, buffers: bool, hold: bool) -> None:
        self._guard, self._r, self._hold = guard, r, hold
        self._idle, self._rru, self._buffers = idle, rru, buffers
        self._lent: list[int] = []
        self._gone: list[Leaver] = []

    def choose(self, waiting: Sequence[Leaver], most: int) -> list[int]:
        """Return the kinds of the servers to lend, at most `most`. Try the servers that lack least first, and give up
        after _TRIES that differ: a tick asks for many reservations.
        """
        few_rru = FEW_SHARE * self._guard.capacity_rru(self._r) if self._hold else np.inf
        helpless, gone_rru = 0, 0.0
        for server, number in self._by_lack(waiting):
            for _ in range(number):
                is_full = len(self._lent) >= most or len(self._gone) >= SPARES_MAX
                if is_full or (self._gone and gone_rru + server.rru > few_rru):
                    break
                if not self._lets_go(server, most):
                    helpless += 1
                    break
                self._gone.append(server)
                gone_rru += server.rru
            if helpless == _TRIES:
                break
        chosen = list(self._lent)
        self._take_back(0)
        return chosen

    def _by_lack(self, waiting: Sequence[Leaver]) -> list[tuple[Leaver, int]]:
        """Return the servers that differ, each with its number: first those without which the reservation would lack
        least.
        """
        servers = list(Counter(waiting).items())
        ids = np.full(len(servers), self._r)
        places, rru = np.array([one.place for one, _ in servers]), np.array([one.rru for one, _ in servers])
        yields = np.array([one.yields for one, _ in servers])
        lacks = self._guard.lacks(ids, places, rru, hold=self._hold, yields=yields)
        return [servers[k] for k in np.argsort(lacks, kind="stable").tolist()]

    def _lets_go(self, server: Leaver, most: int) -> bool:
        """Lend servers until `server` may leave after those that are gone; or return False, with nothing more lent."""
        before = len(self._lent)
        while not self._may_leave(server):
            usable = self._idle.lendable(self._rru, buffers=self._buffers)
            left = most - len(self._lent)
            if left <= 0 or not self._may_help(server, usable, left, is_first=len(self._lent) == before):
                self._take_back(before)
                return False
            best = self._best(server, usable)
            self._guard.arrive(self._r, *self._worth(best))
            self._guard.start_again(self._r)
            self._idle.count(best, -1)
            self._lent.append(best)
        return True

    def _may_help(self, server: Leaver, usable: Bools, most: int, *, is_first: bool) -> bool:
        """Return whether `most` more of the usable kinds may help. If even the largest leave the promise out of reach,
        what is lent raises what is kept. Then only a first spare for the server may help, in place of it.
        """
        if not usable.any():
            return False
        most_rru = self._guard.level(self._r, survive=not self._hold) + most * float(self._rru[usable].max())
        return is_first or most_rru >= self._guard.keeps_rru(self._r, yields=server.yields)

    def _take_back(self, number: int) -> None:
        """Keep the first spares alone, `number` of them."""
        for kind in self._lent[number:]:
            self._guard.let_go(self._r, *self._worth(kind))
            self._idle.count(kind, 1)
        del self._lent[number:]
        self._guard.start_again(self._r)

    def _may_leave(self, server: Leaver) -> bool:
        self._let_go(self._gone)
        allowed = self._guard.may_leave(self._r, server.place, server.rru, hold=self._hold, yields=server.yields)
        self._arrive(self._gone)
        return allowed

    def _best(self, server: Leaver, usable: Bools) -> int:
        """Return the kind of the next spare: one with which the reservation would lack least once `server` has left.
        Among equals it is one with which the reservation survives most, and then one with which it holds most. A spare
        helps most in domains where little is held, because the worst loss counts.
        """
        keeps_rru = self._guard.keeps_rru(self._r, yields=server.yields)
        before = self._guard.levels_with(self._r, self._idle.place, self._rru)
        self._let_go([*self._gone, server])
        after = self._guard.levels_with(self._r, self._idle.place, self._rru)
        self._arrive([*self._gone, server])
        lacks = [np.minimum(keeps_rru, has) - left for has, left in zip(before, after, strict=True)]
        lack = lacks[1] if self._hold else np.maximum(*lacks)
        return _first_of(usable, -lack, after[0], after[1])

    def _let_go(self, servers: Sequence[Leaver]) -> None:
        for one in servers:
            self._guard.let_go(self._r, one.place, one.rru)

    def _arrive(self, servers: Sequence[Leaver]) -> None:
        for one in servers:
            self._guard.arrive(self._r, one.place, one.rru)

    def _worth(self, kind: int) -> tuple[Place, float]:
        return tuple(self._idle.place[kind].tolist()), float(self._rru[kind])


def _first_of(usable: Bools, *values: Floats) -> int:
    """Return the first usable place with the largest of the first values, among equals of the next ones, and so on."""
    for value in values:
        usable = usable & (value >= value[usable].max() - ROUNDING)
    return int(np.argmax(usable))
