"""Convert capacity of services to sizes of reservations, and back. Pure, and linear in the capacity.

rru[region, reservation]  =  sum over its rows of  capacity[service, region, type] * rru_per_unit * (1 + headroom)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from libs.domain.service_reservation import ServiceReservation

Place = tuple[str, str, str]
"""A service, a region and a hardware type."""
InRegion = tuple[str, str]
"""A region and a reservation in it."""


class UnmappedError(Exception):
    """The table has no row for a place."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(sorted(places))
        service, region, hardware_type = self.places[0]
        more = f" (and {len(self.places) - 1} more)" if len(self.places) > 1 else ""
        super().__init__(
            f"service_reservations has no row for {service} on {hardware_type} in {region}{more}: name the reservation "
            "that holds its capacity"
        )


class ReservationTable:
    """The rows of `service_reservations`. A row that names a region takes precedence over the row for all regions."""

    def __init__(self, rows: Iterable[ServiceReservation]) -> None:
        self._rows = {(row.service, row.hardware_type, row.region): row for row in rows}
        self._services: dict[str, list[ServiceReservation]] = defaultdict(list)
        for row in self._rows.values():
            self._services[row.reservation].append(row)

    def find(self, place: Place) -> ServiceReservation | None:
        """Return the row for a place; None if there is none."""
        service, region, hardware_type = place
        return self._rows.get((service, hardware_type, region)) or self._rows.get((service, hardware_type, None))

    def places(self, region: str, reservation: str) -> list[Place]:
        """Return the places whose capacity the reservation of a region holds, in order of name."""
        candidates = {(row.service, region, row.hardware_type) for row in self._services.get(reservation, ())}
        return sorted(p for p in candidates if (row := self.find(p)) is not None and row.reservation == reservation)

    def rru_of(self, capacity: Mapping[Place, float]) -> dict[InRegion, float]:
        """Return the RRU of each reservation for these capacities, or changes of capacity. Raises UnmappedError."""
        found: dict[InRegion, float] = defaultdict(float)
        unmapped = []
        for place, amount in capacity.items():
            row = self.find(place)
            if row is None:
                unmapped.append(place)
            else:
                found[place[1], row.reservation] += amount * row.rru
        if unmapped:
            raise UnmappedError(unmapped)
        return dict(found)

    def capacity_of(self, rru: Mapping[InRegion, float], weights: Mapping[Place, float]) -> dict[Place, float]:
        """Return the capacity that reservations of these sizes hold. A reservation that no row names holds none.

        weights   capacities in whose proportion the services of a reservation share it, such as their use; places
                  without a weight get nothing, unless all are without: then they share equally, in RRU
        """
        found: dict[Place, float] = {}
        for (region, reservation), size in rru.items():
            places = self.places(region, reservation)
            per_unit = {place: self._rru(place) for place in places}
            largest = max((weights.get(place, 0.0) for place in places), default=0.0)
            if largest > 0:  # relative weights, since a product with a tiny one would be rounded
                parts = {p: max(weights.get(p, 0.0), 0.0) / largest * per_unit[p] for p in places}
            else:
                parts = dict.fromkeys(places, 1.0)
            whole = sum(parts.values())
            found |= {place: size * part / whole / per_unit[place] for place, part in parts.items()}
        return found

    def _rru(self, place: Place) -> float:
        row = self.find(place)
        assert row is not None
        return row.rru
