"""Read what moves at reservations, for people: waits, loans and urgent marks."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from libs.domain.reservation_motion import ReservationMotion, UrgentSummary
from libs.store.fleet.departure_waits import load_waits
from libs.store.fleet.loans import load_loans
from libs.store.platform.database import Transaction

_URGENT = sa.text("""
    SELECT coalesce(current_reservation_id, in_doubt_reservation_id) AS reservation_id, count(*) AS servers,
           min(marked_at) AS since,
           (array_agg(marked_by ORDER BY marked_at DESC, server_id))[1] AS marked_by,
           (array_agg(reason ORDER BY marked_at DESC, server_id))[1] AS reason
    FROM urgent_departures JOIN servers USING (server_id)
    WHERE coalesce(current_reservation_id, in_doubt_reservation_id) = ANY(:ids)
    GROUP BY coalesce(current_reservation_id, in_doubt_reservation_id)""")
_NAMES = tuple(UrgentSummary.__dataclass_fields__)


def load_motions(tx: Transaction, reservation_ids: Sequence[int]) -> dict[int, ReservationMotion]:
    """Return what moves at each of these reservations now."""
    ids = list(reservation_ids)
    waits, loans = load_waits(tx, ids), load_loans(tx, ids)
    urgent = {
        row["reservation_id"]: UrgentSummary(**{name: row[name] for name in _NAMES})
        for row in tx.execute(_URGENT, {"ids": ids}).mappings()
    }
    return {r: ReservationMotion(wait=waits.get(r), loans=loans.get(r), urgent=urgent.get(r)) for r in ids}
