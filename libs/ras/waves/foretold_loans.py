"""Foretell the loans of a plan, by the mover's own choice of spare servers. Pure. See docs/designs/0038."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.holding import Place
from libs.domain.spare import SPARES_MAX
from libs.domain.wave_loans import Lendable, WaveLoans
from libs.domain.waves import NEVER, NONE
from libs.ras.waves.departures import Departures
from libs.ras.waves.guard import Guard
from libs.ras.waves.spares import IdleKinds, Leaver, choose_spares, in_turn


@dataclass(slots=True)
class ComingLoan:
    """A loan of a server of one kind. Kind NONE: it began before the plan."""

    reservation: int
    kind: int
    place: Place
    rru: float
    begins: int
    ends: int = NEVER


class Lender:
    """The loans of a plan, wave by wave. The guard knows the reservation of row r by the id r + 1."""

    def __init__(self, guard: Guard, lendable: Lendable) -> None:
        self._guard, self._from = guard, lendable
        self._idle = IdleKinds(lendable.domain, lendable.buffer, lendable.number, lendable.room)
        lent = lendable.lent
        columns = (lent.reservation, lent.domain, lent.rru, lent.begins)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._loans = [ComingLoan(r, NONE, tuple(place), rru, begins) for r, place, rru, begins in rows]
        self._present = Counter(loan.reservation for loan in self._loans)
        self._helpless: set[int] = set()

    def begin(self, departures: Departures) -> list[ComingLoan]:
        """Return the loans whose servers are on their way already. Note in `departures` that they arrive."""
        coming = [loan for loan in self._loans if loan.begins == 0]
        departures.arrive(loan.reservation + 1 for loan in coming)
        return coming

    def take_back(self, departures: Departures, giving: Container[int], wave: int) -> set[int]:
        """End the loans of the reservations that are not `giving` any server away, if these can spare the lent servers.
        Return the rows of these reservations.
        """
        found = set()
        for loan in self._loans:
            is_there = loan.ends == NEVER and loan.begins < wave
            if not is_there or loan.reservation in giving:
                continue
            if departures.allow(loan.reservation + 1, loan.place, loan.rru):
                loan.ends = wave
                self._present[loan.reservation] -= 1
                found.add(loan.reservation)
                if loan.kind != NONE:
                    self._idle.count(loan.kind, 1)
                    self._helpless.clear()
        return found

    def lend(
        self, departures: Departures, reservations: Iterable[int], waiting: Mapping[int, Sequence[Leaver]], wave: int
    ) -> list[ComingLoan]:
        """Return the servers that begin to join in this wave, for reservations that can give none away and expect none.
        Note in `departures` that they arrive.

        waiting   reservation -> the servers that wait to leave it for another one
        """
        found: list[ComingLoan] = []
        for r in (known_as - 1 for known_as in in_turn(self._guard, (r + 1 for r in reservations))):
            most = SPARES_MAX - self._present[r]
            known = r in self._helpless or not self._from.borrows[r] or not departures.is_idle(r + 1)
            if known or most <= 0 or not self._idle.number.any() or not (servers := waiting[r]):
                continue
            rru = self._from.rru(r)
            kinds = choose_spares(self._guard, r + 1, servers, self._idle, rru, most=most)
            if not kinds:
                self._helpless.add(r)
                continue
            departures.arrive([r + 1])
            for k in kinds:
                self._idle.count(k, -1)
                self._present[r] += 1
                found.append(ComingLoan(r, k, tuple(self._from.domain[k].tolist()), float(rru[k]), wave))
        self._loans += found
        return found

    def seconds(self, loans: Sequence[ComingLoan]) -> float:
        """Return the expected seconds until the last of these servers has joined; 0: there is none."""
        known = (self._from.seconds(loan.reservation, loan.kind) for loan in loans if loan.kind != NONE)
        return max(known, default=self._from.join_s if loans else 0.0)

    def note(self, changed: set[int]) -> None:
        """Note that what these reservations hold has changed, so a loan may help them now."""
        self._helpless -= changed

    def loans(self) -> WaveLoans:
        """Return all loans."""
        return WaveLoans(
            reservation=np.array([loan.reservation for loan in self._loans], np.int64),
            domain=np.array([loan.place for loan in self._loans], np.int64).reshape(-1, self._from.domain.shape[1]),
            rru=np.array([loan.rru for loan in self._loans], np.float64),
            begins=np.array([loan.begins for loan in self._loans], np.int64),
            ends=np.array([loan.ends for loan in self._loans], np.int64),
            foretold=np.array([loan.kind != NONE for loan in self._loans], bool),
        )
