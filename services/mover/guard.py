"""Make before break: decide whether a reservation can spare a server now. Pure. See docs/designs/0020."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from libs.domain.holding import Holding
from libs.domain.reservation import ROUNDING


class Guard:
    """The RRU that reservations hold, less the servers that `let_go` has removed."""

    def __init__(self, holdings: Iterable[Holding]) -> None:
        self._holding = {one.reservation_id: one for one in holdings}
        self._held = {one.reservation_id: dict(one.held_rru) for one in self._holding.values()}
        self._floor = {
            survive: {r: min(one.capacity_rru, self._level(r, survive)) for r, one in self._holding.items()}
            for survive in (True, False)
        }

    def may_leave(self, reservation_id: int, msb_id: int, rru: float, *, hold: bool = False) -> bool:
        """Return whether the reservation can lose a server worth `rru` in the MSB `msb_id`. It can if it then still
        holds the capacity that it was promised, or as much as it held at the start.

        hold   True to ignore the loss of an MSB: check only that the reservation holds its capacity while all MSBs are
               up
        """
        one = self._holding.get(reservation_id)
        if one is None or rru <= 0:
            return True
        held = self._held[reservation_id]
        before = held.get(msb_id, 0.0)
        held[msb_id] = before - rru
        slack = ROUNDING * one.capacity_rru
        allowed = all(
            self._level(reservation_id, survive) >= self._floor[survive][reservation_id] - slack
            for survive in ((False,) if hold else (False, True))
        )
        held[msb_id] = before
        return allowed

    def let_go(self, reservation_id: int, msb_id: int, rru: float) -> None:
        """Remove a server worth `rru` in the MSB `msb_id` from the reservation's holding."""
        if reservation_id in self._held:
            held = self._held[reservation_id]
            held[msb_id] = held.get(msb_id, 0.0) - rru

    def name(self, reservation_id: int) -> str:
        """Return the reservation's name."""
        return self._holding[reservation_id].reservation

    def _level(self, reservation_id: int, survive: bool) -> float:
        held: Mapping[int, float] = self._held[reservation_id]
        loss = max(held.values(), default=0.0) if survive and self._holding[reservation_id].survives_msb_loss else 0.0
        return sum(held.values()) - loss
