"""Spare servers: idle ones that a reservation has for the time of an exchange. See docs/designs/0027."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from libs.domain.arrays import Ints

SPARES_MAX = 10
"""Spare servers that a reservation may have at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdleServers:
    """K servers that may be lent, in order of preference, and what they are worth to the reservations that wait. They
    are up, clean, and free or idle in a shared buffer.

    id, generation, msb_id   (K,) int
    hardware_type_id         (K,) int
    buffer_id                (K,) int    reservation id of its shared buffer; 0: it is free
    rru                      (reservation id, hardware type id) -> RRU; absent: of no use
    room                     shared buffer -> number of its servers that may be lent now; absent: none
    """

    id: Ints
    generation: Ints
    msb_id: Ints
    hardware_type_id: Ints
    buffer_id: Ints
    rru: Mapping[tuple[int, int], float]
    room: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """A server that is lent to a reservation.

    has_joined   True: it is in the reservation
    usable       True: it is up and may move, the reservation exists, and no plan has another use for the server
    """

    server_id: int
    generation: int
    reservation_id: int
    has_joined: bool
    usable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """A server to lend to a reservation, or to take back (`reservation_id` None), at the generation that was read."""

    server_id: int
    generation: int
    reservation_id: int | None
