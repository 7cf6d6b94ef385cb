"""The promise of a reservation in SQL: what was granted of its capacity. See docs/designs/0064."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FleetSnapshot
from libs.store.platform.database import Transaction

_DECIDED = """FROM capacity_requests AS one
        WHERE one.reservation_id = reservations.reservation_id AND one.kind <> 'delete' AND one.phase"""
_LAST = "ORDER BY one.capacity_request_id DESC LIMIT 1"
_CREATED = """EXISTS (
        SELECT FROM capacity_requests AS one
        WHERE one.reservation_id = reservations.reservation_id AND one.kind = 'create')"""
# The last request that was accepted may still wait for servers. Then the promise is the one before it. A reservation
# that no request created was imported, with RRU that are promised. Older versions did not keep these, or only until a
# resize. Then all that it asks for counts until a request is granted. A request that is not decided yet has not changed
# the reservation.
GRANTED_RRU = f"""
    CASE WHEN 'degraded' = (SELECT one.phase {_DECIDED} IN ('granted', 'degraded') {_LAST})
    THEN least(reservations.capacity_rru, coalesce((
        SELECT CAST(one.spec ->> 'capacity_rru' AS double precision) {_DECIDED} = 'granted' {_LAST}),
        CASE WHEN {_CREATED} THEN 0 ELSE coalesce(reservations.imported_rru, reservations.capacity_rru) END))
    ELSE reservations.capacity_rru END"""
"""SQL expression of a row of `reservations`: the RRU that are promised to its owner. They are less than `capacity_rru`
only while its owner waits for more. No other code defines this.
"""

# A shared buffer is promised to no owner. OFFSET: else each row is asked twice for its requests.
_UNGRANTED = f"""
    SELECT reservation_id, rru FROM (
        SELECT reservation_id, capacity_rru, CASE WHEN kind = 'guaranteed' THEN {GRANTED_RRU} ELSE 0 END AS rru
        FROM reservations WHERE {{chosen}} AND deleted_at IS NULL OFFSET 0
    ) AS each WHERE rru < capacity_rru"""
_OF_REGION = sa.text(_UNGRANTED.format(chosen="region_id = :region_id"))
_OF_IDS = sa.text(
    _UNGRANTED.format(chosen="reservations.reservation_id = ANY(:ids) AND reservations.kind = 'guaranteed'")
)


def load_ungranted(tx: Transaction, region_id: int) -> dict[int, float]:
    """Return reservation id -> RRU granted so far, of the live reservations that ask for more than that."""
    return {row.reservation_id: float(row.rru) for row in tx.execute(_OF_REGION, {"region_id": region_id})}


def with_promises(tx: Transaction, snapshot: FleetSnapshot, region_id: int) -> FleetSnapshot:
    """Return the snapshot with what was granted of each reservation so far, and of each guest.

    `tx` must be the transaction that loaded the snapshot.
    """
    ungranted, q = load_ungranted(tx, region_id), snapshot.reservations
    granted = [ungranted.get(int(reservation_id), np.inf) for reservation_id in q.id]
    guests = (
        replace(guest, promised_rru=ungranted.get(guest.reservation_id, guest.spec.capacity_rru))
        for guest in snapshot.guests
    )
    promised_rru = np.minimum(q.capacity_rru, np.array(granted, np.float64))
    return replace(snapshot, promised_rru=promised_rru, guests=tuple(guests))


def load_waiting(tx: Transaction, ids: Collection[int]) -> dict[int, float]:
    """Return reservation id -> RRU granted so far, of those among `ids` whose owners wait for more. A shared buffer has
    no owner.
    """
    return {row.reservation_id: float(row.rru) for row in tx.execute(_OF_IDS, {"ids": list(ids)})}
