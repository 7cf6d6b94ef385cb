"""Make before break: decide whether a reservation can spare a server now. Pure. See docs/designs/0020."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from libs.domain.arrays import Floats, Ints
from libs.domain.holding import Holding
from libs.domain.reservation import ROUNDING


class Guard:
    """The RRU that reservations hold, less the servers that `let_go` has removed."""

    def __init__(self, holdings: Iterable[Holding]) -> None:
        self._holding = {one.reservation_id: one for one in holdings}
        self._held = {one.reservation_id: dict(one.held_rru) for one in self._holding.values()}
        self._total = {r: sum(held.values()) for r, held in self._held.items()}
        self._worst = {r: max(held.values(), default=0.0) for r, held in self._held.items()}
        """The RRU that each reservation holds in the MSB that gives it most. Kept up to date, like the total, because
        the guard is asked for every server that waits.
        """
        self._floor = {survive: {r: self._floor_of(r, survive) for r in self._holding} for survive in (True, False)}

    def may_leave(self, reservation_id: int, msb_id: int, rru: float, *, hold: bool = False) -> bool:
        """Return whether the reservation can lose a server worth `rru` in the MSB `msb_id`. It can if it then still
        holds the capacity that it was promised, or as much as it held at the start.

        hold   True to ignore the loss of an MSB: check only that the reservation holds its capacity while all MSBs are
               up
        """
        one = self._holding.get(reservation_id)
        if one is None or rru <= 0:
            return True
        slack, total = ROUNDING * one.capacity_rru, self._total[reservation_id] - rru
        if total < self._floor[False][reservation_id] - slack:
            return False
        if hold:
            return True
        loss = self._worst_after(reservation_id, msb_id, -rru) if one.survives_msb_loss else 0.0
        return total - loss >= self._floor[True][reservation_id] - slack

    def lacks(self, reservation_ids: Ints, msb_ids: Ints, rru: Floats, *, hold: bool = False) -> Floats:
        """Return the RRU (N,) that a reservation would lack if one server left it, for N servers, each judged alone. A
        reservation must keep a capacity at the level *survive*, or with `hold` at the level *hold*. If the value is
        above 0, the server may not leave.
        """
        known = [r for r in np.unique(reservation_ids).tolist() if r in self._holding]
        if not known:
            return np.zeros(len(rru))
        row = np.minimum(np.searchsorted(known, reservation_ids), len(known) - 1)
        is_known = np.asarray(known)[row] == reservation_ids
        pairs = zip(reservation_ids.tolist(), msb_ids.tolist(), strict=True)
        there = np.array([self._held[r].get(msb, 0.0) if r in self._held else 0.0 for r, msb in pairs])
        levels = np.array([self._levels(r) for r in known])
        total, keeps_hold, keeps_survive, worst, second, slack = (levels[row, k] for k in range(levels.shape[1]))
        lack = np.asarray(keeps_hold - (total - rru))
        if not hold:
            loss = np.where(there >= worst, np.maximum(there - rru, second), worst)
            lack = np.maximum(lack, keeps_survive - (total - rru - np.where(np.isfinite(second), loss, 0.0)))
        return np.where(is_known & (rru > 0) & (lack > slack), lack, 0.0)

    def keeps_rru(self, reservation_id: int, *, hold: bool) -> float:
        """Return the RRU that the reservation must keep at a level."""
        return self._floor[not hold][reservation_id]

    def let_go(self, reservation_id: int, msb_id: int, rru: float) -> None:
        """Remove a server worth `rru` in the MSB `msb_id` from the reservation's holding."""
        if reservation_id in self._held:
            held = self._held[reservation_id]
            self._worst[reservation_id] = self._worst_after(reservation_id, msb_id, -rru)
            self._total[reservation_id] -= rru
            held[msb_id] = held.get(msb_id, 0.0) - rru

    def arrive(self, reservation_id: int, msb_id: int, rru: float) -> None:
        """Add a server worth `rru` in the MSB `msb_id` to the reservation's holding. Call `start_again` before the next
        question about the reservation.
        """
        self.let_go(reservation_id, msb_id, -rru)

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

    def level(self, reservation_id: int, survive: bool) -> float:
        """Return the RRU that the reservation holds.

        survive   True: without the MSB that holds most, if the reservation is to survive the loss of an MSB
        """
        loss = self._worst[reservation_id] if survive and self._holding[reservation_id].survives_msb_loss else 0.0
        return self._total[reservation_id] - loss

    def levels_with(self, reservation_id: int, msb_ids: Ints, rru: Floats) -> tuple[Floats, Floats]:
        """Return the RRU (N,) that the reservation would hold with one of N more servers: without its worst MSB, if it
        must survive its loss, and with all MSBs.
        """
        held, total = self._held[reservation_id], self._total[reservation_id] + rru
        if not self._holding[reservation_id].survives_msb_loss:
            return total, total
        msbs, index = np.unique(msb_ids, return_inverse=True)
        there = np.array([held.get(msb, 0.0) for msb in msbs.tolist()])[index]
        return total - np.maximum(self._worst[reservation_id], there + rru), total

    def _levels(self, r: int) -> tuple[float, ...]:
        """Return what is held, what must be kept at *hold* and at *survive*, the most and the second most that one MSB
        gives (infinite: no loss counts), and the RRU that count as rounding.
        """
        one = self._holding[r]
        first, second = 0.0, -np.inf
        if one.survives_msb_loss:
            *_, second, first = [0.0, 0.0, *sorted(self._held[r].values())]
        return self._total[r], self._floor[False][r], self._floor[True][r], first, second, ROUNDING * one.capacity_rru

    def _worst_after(self, reservation_id: int, msb_id: int, added_rru: float) -> float:
        """Return the most that one MSB gives the reservation once the MSB `msb_id` gives `added_rru` more."""
        held, worst = self._held[reservation_id], self._worst[reservation_id]
        before = held.get(msb_id, 0.0)
        if before < worst or added_rru >= 0:
            return max(worst, before + added_rru)
        return max(before + added_rru, max((rru for msb, rru in held.items() if msb != msb_id), default=0.0))

    def _floor_of(self, reservation_id: int, survive: bool) -> float:
        return min(self._holding[reservation_id].capacity_rru, self.level(reservation_id, survive))
