"""Servers counted by place and hardware type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCounts:
    """Servers of one hardware type in one MSB. They are those of a region, or those of one reservation.

    bound        with a reservation as target
    joined       in a reservation now
    arriving     bound, and not in that reservation yet
    departing    in a reservation, and bound to another or to none
    to_move      where they are not to be: arriving, departing, or both
    free         bound to none, not down, and not announced for retirement
    down         unavailable for an unplanned reason
    maintenance  unavailable for a planned reason
    held_rru, target_rru   of the one reservation; None for a whole region
    """

    datacenter: str
    msb: str
    hardware_type: str
    servers: int
    bound: int
    joined: int
    arriving: int
    departing: int
    to_move: int
    free: int
    in_use: int
    down: int
    maintenance: int
    held_rru: float | None
    target_rru: float | None
