"""Make before break in one measure of capacity: RRU, or the share of a resource that is held. Pure. See guard.py."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.holding import Holding, Lack, Place
from libs.domain.reservation import ROUNDING


class MeasureGuard:
    """The RRU that reservations hold in one measure, less the servers that `let_go` has removed."""

    def __init__(self, holdings: Iterable[Holding]) -> None:
        self._holding = {one.reservation_id: one for one in holdings}
        self._held = {r: [dict(held) for held in one.held_rru] for r, one in self._holding.items()}
        self._total = {r: sum(by_msb.values()) for r, (by_msb, *_) in self._held.items()}
        self._slack = {r: ROUNDING * max(one.capacity_rru, self._total[r]) for r, one in self._holding.items()}
        """The RRU that count as rounding: a promise of 0 has residues of the sums of what is held, too."""
        self._worst = {r: [max(held.values(), default=0.0) for held in kinds] for r, kinds in self._held.items()}
        """The RRU that each reservation holds in the domain of each kind that gives it most. Kept up to date, like the
        total, because the guard is asked for every server that waits.
        """
        self._survived = {
            r: [k for k, survives in enumerate(one.survives) if survives] for r, one in self._holding.items()
        }
        self._floor = {survive: {r: self._floor_of(r, survive) for r in self._holding} for survive in (True, False)}

    def knows(self, reservation_id: int) -> bool:
        """Return whether the guard has what the reservation holds."""
        return reservation_id in self._holding

    def may_leave(
        self, reservation_id: int, place: Place, rru: float, *, hold: bool = False, yields: bool = False
    ) -> bool:
        """Return whether the reservation can lose a server worth `rru` in the domains `place`. It can if it then still
        holds its capacity, or as much as it held at the start.

        hold     True to ignore losses: check only that the reservation holds its capacity while all domains are up
        yields   True: what was granted of its capacity is enough
        """
        if reservation_id not in self._holding or rru <= 0:
            return True
        return self.lack(reservation_id, place, rru, hold=hold, yields=yields).rru <= self._slack[reservation_id]

    def lack(self, reservation_id: int, place: Place, rru: float, *, hold: bool = False, yields: bool = False) -> Lack:
        """Return the most RRU that a known reservation would lack without a server. Arguments as in `may_leave`."""
        most = self._holding[reservation_id].granted_rru if yields else math.inf
        total, keeps = self._total[reservation_id] - rru, min(self._floor[False][reservation_id], most)
        found = Lack(keeps - total, keeps)
        if hold:
            return found
        keeps = min(self._floor[True][reservation_id], most)
        for k in self._survived[reservation_id]:
            left = total - self._worst_after(reservation_id, k, place[k], -rru)
            found = max(found, Lack(keeps - left, keeps, kind=k), key=lambda one: one.rru)
        return found

    def lacks(
        self, reservation_ids: Ints, places: Ints, rru: Floats, *, hold: bool = False, yields: Bools | None = None
    ) -> Floats:
        """Return the RRU (N,) that a reservation would lack if one server left it, for N servers, each judged alone. A
        reservation must keep a capacity at the level *survive*, or with `hold` at the level *hold*. If the value is
        above 0, the server may not leave.

        places   (N, L) the domains of each server, as in `Place`
        yields   (N,) whether what was granted of the capacity is enough; None: nowhere
        """
        known = [r for r in np.unique(reservation_ids).tolist() if r in self._holding]
        if not known:
            return np.zeros(len(rru))
        row = np.minimum(np.searchsorted(known, reservation_ids), len(known) - 1)
        is_known = np.asarray(known)[row] == reservation_ids
        levels = np.array([self._levels(r) for r in known])
        total, keeps_hold, keeps_survive, slack, granted = (levels[row, k] for k in range(levels.shape[1]))
        if yields is not None:
            keeps_hold, keeps_survive = (
                np.where(yields, np.minimum(k, granted), k) for k in (keeps_hold, keeps_survive)
            )
        lack = np.asarray(keeps_hold - (total - rru))
        if not hold:
            worst = np.zeros(len(rru))
            for k, domains in enumerate(places.T):
                pairs = zip(reservation_ids.tolist(), domains.tolist(), strict=True)
                there = np.array([self._held[r][k].get(d, 0.0) if r in self._held else 0.0 for r, d in pairs])
                first, second = np.array([self._fullest(r, k) for r in known])[row].T
                loss = np.where(there >= first, np.maximum(there - rru, second), first)
                worst = np.maximum(worst, np.where(np.isfinite(second), loss, 0.0))
            lack = np.maximum(lack, keeps_survive - (total - rru - worst))
        return np.where(is_known & (rru > 0) & (lack > slack), lack, 0.0)

    def let_go(self, reservation_id: int, place: Place, rru: float) -> None:
        """Remove a server worth `rru` in the domains `place` from the reservation's holding."""
        if reservation_id in self._held:
            for k, (held, domain) in enumerate(zip(self._held[reservation_id], place, strict=True)):
                self._worst[reservation_id][k] = self._worst_after(reservation_id, k, domain, -rru)
                held[domain] = held.get(domain, 0.0) - rru
            self._total[reservation_id] -= rru

    def arrive(self, reservation_id: int, place: Place, rru: float) -> None:
        """Add a server worth `rru` in the domains `place` to the reservation's holding. Call `start_again` before the
        next question about the reservation.
        """
        self.let_go(reservation_id, place, -rru)

    def start_again(self, reservation_id: int) -> None:
        """Take what the reservation holds now for what it held at the start."""
        if reservation_id in self._held:
            for survive, floors in self._floor.items():
                floors[reservation_id] = self._floor_of(reservation_id, survive)

    def name(self, reservation_id: int) -> str:
        """Return the reservation's name."""
        return self._holding[reservation_id].reservation

    def capacity_rru(self, reservation_id: int) -> float:
        """Return the reservation's promise; infinite for a reservation that the guard does not know."""
        one = self._holding.get(reservation_id)
        return float("inf") if one is None else one.capacity_rru

    def keeps_rru(self, reservation_id: int, *, yields: bool = False) -> float:
        """Return the most that a known reservation must keep, however much it holds. Arguments as in `may_leave`."""
        one = self._holding[reservation_id]
        return min(one.capacity_rru, one.granted_rru) if yields else one.capacity_rru

    def level(self, reservation_id: int, survive: bool) -> float:
        """Return the RRU that the reservation holds.

        survive   True: after the worst loss that the reservation is to survive
        """
        survived = self._survived[reservation_id] if survive else ()
        return self._total[reservation_id] - max((self._worst[reservation_id][k] for k in survived), default=0.0)

    def levels_with(self, reservation_id: int, places: Ints, rru: Floats) -> tuple[Floats, Floats]:
        """Return the RRU (N,) that the reservation would hold with one of N more servers: after the worst loss that it
        must survive, and without a loss.

        places   (N, L) the domains of each server, as in `Place`
        """
        total, loss = self._total[reservation_id] + rru, np.zeros(len(rru))
        for k in self._survived[reservation_id]:
            held = self._held[reservation_id][k]
            domains, index = np.unique(places[:, k], return_inverse=True)
            there = np.array([held.get(domain, 0.0) for domain in domains.tolist()])[index]
            loss = np.maximum(loss, np.maximum(self._worst[reservation_id][k], there + rru))
        return total - loss, total

    def _levels(self, r: int) -> tuple[float, ...]:
        """Return what is held, what must be kept at *hold* and at *survive*, the RRU that count as rounding, and what
        was granted.
        """
        granted_rru = self._holding[r].granted_rru
        return self._total[r], self._floor[False][r], self._floor[True][r], self._slack[r], granted_rru

    def _fullest(self, r: int, k: int) -> tuple[float, float]:
        """Return the most and the second most that one domain of kind `k` gives; infinite: its loss does not count."""
        if k not in self._survived[r]:
            return 0.0, -np.inf
        *_, second, first = [0.0, 0.0, *sorted(self._held[r][k].values())]
        return first, second

    def _worst_after(self, reservation_id: int, k: int, domain: int, added_rru: float) -> float:
        """Return the most that one domain of kind `k` gives the reservation once `domain` gives `added_rru` more."""
        held, worst = self._held[reservation_id][k], self._worst[reservation_id][k]
        before = held.get(domain, 0.0)
        if before < worst or added_rru >= 0:
            return max(worst, before + added_rru)
        return max(before + added_rru, max((rru for other, rru in held.items() if other != domain), default=0.0))

    def _floor_of(self, reservation_id: int, survive: bool) -> float:
        return min(self._holding[reservation_id].capacity_rru, self.level(reservation_id, survive))
