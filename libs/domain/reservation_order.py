"""The orders in which reservations can be listed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ReservationKey(StrEnum):
    """The value that a list is ordered by. Each is a field of the reservation in the API."""

    NAME = "name"
    OWNER = "owner"
    PHASE = "phase"
    CAPACITY_RRU = "capacity_rru"
    TARGET_RRU = "target_rru"
    HELD_RRU = "held_rru"
    HELD_AFTER_MSB_LOSS_RRU = "held_after_msb_loss_rru"
    SHORTFALL_RRU = "shortfall_rru"
    READY = "ready"
    """The status of the condition Ready: False, True, Unknown."""

    @property
    def is_text(self) -> bool:
        """Whether the values are texts, and not numbers."""
        return self in (ReservationKey.NAME, ReservationKey.OWNER, ReservationKey.PHASE, ReservationKey.READY)


@dataclass(frozen=True, slots=True)
class ReservationOrder:
    """An order of a list: by a key, the least first, or descending. Reservations with equal keys follow by id."""

    key: ReservationKey
    descending: bool = False

    def __str__(self) -> str:
        return f"-{self.key}" if self.descending else str(self.key)


RESERVATION_ORDERS = {
    str(order): order for key in ReservationKey for order in (ReservationOrder(key), ReservationOrder(key, True))
}
"""All orders by their names, such as held_rru and -held_rru."""


@dataclass(frozen=True, slots=True)
class ReservationPlace:
    """The place of a reservation in an ordered list: its key at that moment, and its id."""

    value: str | float
    reservation_id: int
