"""The reservation that holds the capacity of a service, and the worth of its capacity in RRU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceReservation:
    """One row of the table between services and reservations.

    region         the only region in which the row counts; None: every region without a row of its own
    rru_per_unit   RRU per unit of the hardware type's capacity; above 0
    headroom       share of the capacity that the reservation holds on top of it
    """

    service: str
    hardware_type: str
    region: str | None
    reservation: str
    rru_per_unit: float
    headroom: float

    @property
    def rru(self) -> float:
        """RRU of the reservation per unit of capacity, with headroom."""
        return self.rru_per_unit * (1 + self.headroom)
