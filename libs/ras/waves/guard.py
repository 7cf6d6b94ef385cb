"""Make before break: decide whether a reservation can spare a server now. Pure. See docs/designs/0020."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.holding import Holding, Lack, Place, ResourceHoldings
from libs.domain.reservation import ROUNDING
from libs.ras.waves.measure_guard import MeasureGuard


class Guard:
    """The RRU that reservations hold, less the servers that `let_go` has removed.

    A reservation may also ask for resources. It then must keep its share of each of them, as it keeps its RRU
    (docs/designs/0058). With resources, the last number of a `Place` is the hardware type of the server: the worth of a
    server in a resource follows from its type.
    """

    def __init__(self, holdings: Iterable[Holding], resources: Sequence[ResourceHoldings] = ()) -> None:
        listed = list(holdings)
        self._rru = MeasureGuard(listed)
        self._resources = [(one, MeasureGuard(one.holdings)) for one in resources]
        self._asks = {h.reservation_id for one in resources for h in one.holdings}
        self._kinds = len(listed[0].survives) if listed else None

    def may_leave(
        self, reservation_id: int, place: Place, rru: float, *, hold: bool = False, yields: bool = False
    ) -> bool:
        """Return whether the reservation can lose a server worth `rru` in the domains `place`. It can if it then still
        holds its capacity, or as much as it held at the start, in each measure.

        hold     True to ignore losses: check only that the reservation holds its capacity while all domains are up
        yields   True: what was granted of its capacity is enough (docs/designs/0064)
        """
        domains = place[: self._kinds]
        return self._rru.may_leave(reservation_id, domains, rru, hold=hold, yields=yields) and all(
            guard.may_leave(reservation_id, domains, share, hold=hold, yields=yields)
            for _, guard, share in self._shares(reservation_id, place, rru)
        )

    def lacks(
        self, reservation_ids: Ints, places: Ints, rru: Floats, *, hold: bool = False, yields: Bools | None = None
    ) -> Floats:
        """Return the RRU (N,) that a reservation would lack if one server left it, for N servers, each judged alone. A
        reservation must keep a capacity at the level *survive*, or with `hold` at the level *hold*. If the value is
        above 0, the server may not leave. The largest lack over the measures counts.

        places   (N, L) the domains of each server, as in `Place`
        yields   (N,) whether what was granted of the capacity is enough; None: nowhere
        """
        domains = places[:, : self._kinds]
        lack = self._rru.lacks(reservation_ids, domains, rru, hold=hold, yields=yields)
        asks = np.flatnonzero(np.isin(reservation_ids, list(self._asks)))
        for one, guard in self._resources if len(asks) else ():
            ids = reservation_ids[asks]
            share = np.array([one.share(*pair) for pair in zip(ids.tolist(), places[asks, -1].tolist(), strict=True)])
            share = np.where(rru[asks] > 0, share, 0.0)
            enough = None if yields is None else yields[asks]
            lack[asks] = np.maximum(lack[asks], guard.lacks(ids, domains[asks], share, hold=hold, yields=enough))
        return lack

    def lack(self, reservation_id: int, place: Place, rru: float, *, hold: bool = False, yields: bool = False) -> Lack:
        """Return the most that a known reservation would lack without a server, over all measures: the largest share of
        its promise counts. Arguments as in `may_leave`.
        """
        domains = place[: self._kinds]
        found = self._rru.lack(reservation_id, domains, rru, hold=hold, yields=yields)
        for one, guard, share in self._shares(reservation_id, place, rru):
            if guard.knows(reservation_id):
                other = guard.lack(reservation_id, domains, share, hold=hold, yields=yields)
                if other.rru > found.rru:
                    found = other._replace(resource=one.resource, units=one.units.get(reservation_id, 1.0))
        return found

    def let_go(self, reservation_id: int, place: Place, rru: float) -> None:
        """Remove a server worth `rru` in the domains `place` from the reservation's holding."""
        self._add(reservation_id, place, rru, -1.0)

    def arrive(self, reservation_id: int, place: Place, rru: float) -> None:
        """Add a server worth `rru` in the domains `place` to the reservation's holding. Call `start_again` before the
        next question about the reservation.
        """
        self._add(reservation_id, place, rru, 1.0)

    def start_again(self, reservation_id: int) -> None:
        """Take what the reservation holds now for what it held at the start."""
        for guard in self._guards(reservation_id):
            guard.start_again(reservation_id)

    def name(self, reservation_id: int) -> str:
        """Return the reservation's name."""
        return self._rru.name(reservation_id)

    def capacity_rru(self, reservation_id: int) -> float:
        """Return the reservation's promise; infinite for a reservation that the guard does not know."""
        return self._rru.capacity_rru(reservation_id)

    def keeps_rru(self, reservation_id: int, *, yields: bool = False) -> float:
        """Return the most RRU that a known reservation must keep, however much it holds. See `may_leave`."""
        return self._rru.keeps_rru(reservation_id, yields=yields)

    def lack_share(self, reservation_id: int, rru: float) -> float:
        """Return the most that the reservation may lack at *survive* without a server worth `rru`, as a share of its
        promise; 0 for a reservation that the guard does not know.
        """
        promise = self.capacity_rru(reservation_id)
        if math.isinf(promise):
            return 0.0
        return (promise - self.level(reservation_id, survive=True) + rru) / max(promise, ROUNDING)

    def level(self, reservation_id: int, survive: bool) -> float:
        """Return the RRU that the reservation holds, in the measure of which it holds least.

        survive   True: after the worst loss that the reservation is to survive
        """
        return min(guard.level(reservation_id, survive) for guard in self._guards(reservation_id))

    def levels_with(self, reservation_id: int, places: Ints, rru: Floats) -> tuple[Floats, Floats]:
        """Return the RRU (N,) that the reservation would hold with one of N more servers: after the worst loss that it
        must survive, and without a loss. Reservations that ask for resources borrow no server, so this is about RRU.

        places   (N, L) the domains of each server, as in `Place`
        """
        return self._rru.levels_with(reservation_id, places[:, : self._kinds], rru)

    def _add(self, reservation_id: int, place: Place, rru: float, sign: float) -> None:
        domains = place[: self._kinds]
        self._rru.arrive(reservation_id, domains, sign * rru)
        for _, guard, share in self._shares(reservation_id, place, rru):
            guard.arrive(reservation_id, domains, sign * share)

    def _guards(self, reservation_id: int) -> Iterator[MeasureGuard]:
        yield self._rru
        if reservation_id in self._asks:
            yield from (guard for _, guard in self._resources if guard.knows(reservation_id))

    def _shares(
        self, reservation_id: int, place: Place, rru: float
    ) -> Iterator[tuple[ResourceHoldings, MeasureGuard, float]]:
        """Yield each resource with its guard, and the worth of the server in it; nothing for a server without RRU."""
        if reservation_id in self._asks and rru > 0:
            for one, guard in self._resources:
                yield one, guard, one.share(reservation_id, place[-1])
