"""The RRU that all reservations ask for, by region and name. Plans take them for promised, granted or not."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.platform.database import Transaction

_PROMISED = sa.text("""
    SELECT regions.name AS region, reservations.name AS reservation, capacity_rru
    FROM reservations JOIN regions USING (region_id)
    WHERE kind = 'guaranteed' AND deleted_at IS NULL AND NOT scheduled""")


def load_promised_rru(tx: Transaction) -> dict[tuple[str, str], float]:
    """Return (region, reservation) -> RRU asked for, of guaranteed reservations whose window has begun."""
    return {(row.region, row.reservation): float(row.capacity_rru) for row in tx.execute(_PROMISED)}
