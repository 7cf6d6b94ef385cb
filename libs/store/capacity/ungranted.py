"""Read which reservations were granted less than they ask for, and how much."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from libs.store.platform.database import Transaction

# The last request that was accepted may still wait for servers. Then the promise is the one before it. A shared buffer
# is promised to no owner. A reservation without requests was imported.
_UNGRANTED = """
    SELECT reservation_id, coalesce(promised.rru, 0) AS rru
    FROM reservations
    LEFT JOIN LATERAL (
        SELECT capacity_request_id, phase FROM capacity_requests AS one
        WHERE one.reservation_id = reservations.reservation_id AND kind <> 'delete' AND phase IN ('granted', 'degraded')
        ORDER BY capacity_request_id DESC LIMIT 1
    ) AS last ON true
    LEFT JOIN LATERAL (
        SELECT (spec ->> 'capacity_rru')::double precision AS rru FROM capacity_requests AS one
        WHERE one.reservation_id = reservations.reservation_id AND kind <> 'delete' AND phase = 'granted'
        ORDER BY capacity_request_id DESC LIMIT 1
    ) AS promised ON reservations.kind = 'guaranteed'
    WHERE {chosen} AND deleted_at IS NULL
          AND (last.phase = 'degraded' OR reservations.kind <> 'guaranteed')
          AND coalesce(promised.rru, 0) < capacity_rru"""
_OF_REGION = sa.text(_UNGRANTED.format(chosen="region_id = :region_id"))
_OF_IDS = sa.text(
    _UNGRANTED.format(chosen="reservations.reservation_id = ANY(:ids) AND reservations.kind = 'guaranteed'")
)


def load_ungranted(tx: Transaction, region_id: int) -> dict[int, float]:
    """Return reservation id -> RRU granted so far, of the live reservations that ask for more than that."""
    return {row.reservation_id: float(row.rru) for row in tx.execute(_OF_REGION, {"region_id": region_id})}


def load_waiting(tx: Transaction, ids: Collection[int]) -> dict[int, float]:
    """Return reservation id -> RRU granted so far, of those among `ids` whose owners wait for more. A shared buffer has
    no owner.
    """
    return {row.reservation_id: float(row.rru) for row in tx.execute(_OF_IDS, {"ids": list(ids)})}
