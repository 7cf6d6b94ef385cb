"""The RRU that are promised to all reservations, by region and name. Plans of Flux start from them."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.platform.database import Transaction

_PROMISED = sa.text(f"""
    SELECT regions.name AS region, reservations.name AS reservation, {GRANTED_RRU} AS granted_rru
    FROM reservations JOIN regions USING (region_id)
    WHERE kind = 'guaranteed' AND deleted_at IS NULL AND NOT scheduled""")


def load_promised_rru(tx: Transaction) -> dict[tuple[str, str], float]:
    """Return (region, reservation) -> RRU promised, of guaranteed reservations whose window has begun. They are 0 while
    nothing is granted.
    """
    return {(row.region, row.reservation): float(row.granted_rru) for row in tx.execute(_PROMISED)}
