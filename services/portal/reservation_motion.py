"""Tell what moves at one reservation, with the time at which it is expected to end.

The estimate reads all moves of the region. So the lists of reservations, and a reservation itself, do without it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from libs.domain.reservation import Reservation
from libs.domain.reservation_motion import ReservationMotion
from libs.domain.under_way import UnderWay
from libs.ras.waves.under_way import under_way
from libs.store.fleet.motions import load_motions
from libs.store.moves.under_way import load_moves_under_way
from libs.store.platform.database import Transaction


def under_way_at(tx: Transaction, reservation: Reservation, now: datetime) -> UnderWay:
    """Return what is under way at a reservation now. `tx` must come from Database.snapshot()."""
    moves = load_moves_under_way(tx, reservation)
    return UnderWay() if moves is None else under_way(moves, reservation.reservation_id, now)


def motion_of(tx: Transaction, reservation: Reservation, now: datetime) -> ReservationMotion:
    """Return what moves at a reservation now. `tx` must come from Database.snapshot()."""
    motion = load_motions(tx, [reservation.reservation_id])[reservation.reservation_id]
    return replace(motion, under_way=under_way_at(tx, reservation, now))
