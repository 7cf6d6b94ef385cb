"""Bookings: the servers that are kept for reservations that begin later, and whether they are a promise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from psycopg.types.json import Json

from libs.domain.arrays import Bools
from libs.domain.booking import Booking
from libs.domain.calendar import NewBooking
from libs.domain.fleet import FREE, FleetSnapshot
from libs.reconcile.errors import Overtaken, StaleGeneration
from libs.store.platform.database import Transaction
from libs.store.tables import booked_servers, bookings, reservations

_OF = bookings.c
COLUMNS = (
    _OF.observed_generation.label("booking_generation"),
    _OF.is_promise.label("booking_is_promise"),
    _OF.reason.label("booking_reason"),
    _OF.message.label("booking_message"),
    _OF.numbers.label("booking_numbers"),
    _OF.changed_at.label("booking_changed_at"),
    _OF.decided_at.label("booking_decided_at"),
    sa.select(sa.func.count())
    .where(booked_servers.c.reservation_id == reservations.c.reservation_id)
    .scalar_subquery()
    .label("booking_servers"),
)
"""The columns that booking_of_row needs, in a query of `reservations` and, by outer join, `bookings`."""

_LOCK_RESERVATIONS = sa.text("""
    SELECT reservation_id, generation, deleted_at IS NULL AS is_live, scheduled FROM reservations
    WHERE reservation_id = ANY(:ids) ORDER BY reservation_id FOR NO KEY UPDATE""")
_LOCK_SERVERS = sa.text("""
    SELECT server_id, generation FROM servers WHERE server_id = ANY(:ids) ORDER BY server_id FOR NO KEY UPDATE""")
_PAIRS = """unnest(CAST(:reservation_ids AS bigint[]), CAST(:server_ids AS bigint[]))
            AS pair (reservation_id, server_id)"""
_FORGET = sa.text(f"""
    DELETE FROM booked_servers WHERE reservation_id = ANY(:ids)
      AND NOT EXISTS (SELECT FROM {_PAIRS} WHERE pair.reservation_id = booked_servers.reservation_id
                                             AND pair.server_id = booked_servers.server_id)""")
# The generation of a newly booked server rises: a plan that read it before must not give it to another reservation.
_BOOK = sa.text(f"""
    WITH booked AS (
        INSERT INTO booked_servers (region_id, reservation_id, server_id)
        SELECT region_id, pair.reservation_id, pair.server_id FROM {_PAIRS} JOIN servers USING (server_id)
        ON CONFLICT DO NOTHING RETURNING server_id
    )
    UPDATE servers SET generation = generation + 1 WHERE server_id IN (SELECT server_id FROM booked)""")
_RECORD = sa.text("""
    INSERT INTO bookings AS known
        (reservation_id, observed_generation, is_promise, reason, message, numbers, changed_at, decided_at)
    SELECT found.*, :now, :now
    FROM unnest(CAST(:ids AS bigint[]), CAST(:generations AS bigint[]), CAST(:promises AS boolean[]),
                CAST(:reasons AS text[]), CAST(:messages AS text[]), CAST(:numbers AS jsonb[]))
         AS found (reservation_id, observed_generation, is_promise, reason, message, numbers)
    ON CONFLICT (reservation_id) DO UPDATE SET
        observed_generation = EXCLUDED.observed_generation, is_promise = EXCLUDED.is_promise, reason = EXCLUDED.reason,
        message = EXCLUDED.message, numbers = EXCLUDED.numbers, decided_at = EXCLUDED.decided_at,
        changed_at = CASE WHEN known.is_promise = EXCLUDED.is_promise THEN known.changed_at
                          ELSE EXCLUDED.changed_at END""")
# One that begins at the moment in which the other ends takes its servers over.
_CONFLICT = sa.text("""
    SELECT later.name FROM servers
    JOIN reservations AS holder ON holder.reservation_id = servers.target_reservation_id
    JOIN booked_servers USING (server_id)
    JOIN reservations AS later ON later.reservation_id = booked_servers.reservation_id
    WHERE holder.reservation_id = :reservation_id AND later.scheduled AND later.deleted_at IS NULL
      AND (holder.ends_at IS NULL OR holder.ends_at > later.starts_at - make_interval(secs => :lead_s))
      AND (later.ends_at IS NULL OR later.ends_at > :now)
    LIMIT 1""")


def record_bookings(
    tx: Transaction,
    snapshot: FleetSnapshot,
    new: Sequence[NewBooking],
    *,
    now: datetime,
    changed: Bools | None = None,
    own: int | None = None,
) -> list[int]:
    """Keep the servers of each new booking, and no others for its reservation. All of them or none. Return the ids of
    the reservations.

    changed   (S,) servers that this transaction has changed itself since the snapshot; None: none
    own       a reservation that this transaction has changed itself; None: none

    Raises StaleGeneration if another writer changed one of these servers, the reservation that holds it, or a
    reservation of a booking.
    """
    ids, servers = [_id_of(one) for one in new], snapshot.servers
    rows = np.unique(np.concatenate([np.zeros(0, np.int32), *(one.rows for one in new)]))
    read = rows if changed is None else rows[~changed[rows]]
    holders = np.unique(servers.target[read][servers.target[read] > FREE])
    expected = dict(
        zip(snapshot.reservations.id[holders].tolist(), snapshot.reservations.generation[holders].tolist(), strict=True)
    ) | dict(zip(ids, (one.generation for one in new), strict=True))
    if own is not None and own not in ids:
        expected.pop(own, None)
    found = {row.reservation_id: row for row in tx.execute(_LOCK_RESERVATIONS, {"ids": list(expected)})}
    for reservation_id, generation in expected.items():
        row = found.get(reservation_id)
        is_due = row is not None and row.is_live and (row.scheduled or reservation_id not in ids)
        if row is None or not is_due or row.generation != generation:
            seen = row.generation if row is not None and is_due else None
            raise StaleGeneration("reservation", reservation_id, expected=generation, found=seen)
    generations = dict(tx.execute(_LOCK_SERVERS, {"ids": servers.id[rows].tolist()}).tuples().all())
    for server_id, generation in zip(servers.id[read].tolist(), servers.generation[read].tolist(), strict=True):
        if generations.get(server_id) != generation:
            raise StaleGeneration("server", server_id, expected=generation, found=generations.get(server_id))
    pairs = {
        "reservation_ids": [i for i, one in zip(ids, new, strict=True) for _ in range(len(one.rows))],
        "server_ids": [server_id for one in new for server_id in servers.id[one.rows].tolist()],
    }
    tx.execute(_FORGET, {"ids": ids, **pairs})
    tx.execute(_BOOK, pairs)
    tx.execute(
        _RECORD,
        {
            "ids": ids,
            "generations": [one.generation for one in new],
            "promises": [one.is_promise for one in new],
            "reasons": [one.reason for one in new],
            "messages": [one.message for one in new],
            "numbers": [Json(dict(one.numbers)) for one in new],
            "now": now,
        },
    )
    return ids


def delete_booking(tx: Transaction, reservation_id: int) -> None:
    """Keep no server for a reservation any more, because it begins or is deleted."""
    for table in (booked_servers, bookings):
        tx.execute(sa.delete(table).where(table.c.reservation_id == reservation_id))


def require_no_conflict(tx: Transaction, reservation_id: int, *, lead_s: float, now: datetime) -> None:
    """Raise Overtaken if a target of the reservation is booked by another one before the reservation ends.

    The caller must hold the lock of the reservation, so that no booking of its servers can begin meanwhile.
    """
    parameters = {"reservation_id": reservation_id, "lead_s": lead_s, "now": now}
    name = tx.execute(_CONFLICT, parameters).scalar_one_or_none()
    if name is not None:
        raise Overtaken(f"servers of reservation {reservation_id} were booked for {name}: judge it again")


def booking_of_row(row: sa.RowMapping) -> Booking | None:
    """Return the booking of a row with COLUMNS; None if nothing was decided yet."""
    if row["booking_reason"] is None:
        return None
    return Booking(
        observed_generation=row["booking_generation"],
        is_promise=row["booking_is_promise"],
        reason=row["booking_reason"],
        message=row["booking_message"],
        numbers=row["booking_numbers"],
        servers=row["booking_servers"],
        changed_at=row["booking_changed_at"],
        decided_at=row["booking_decided_at"],
    )


def _id_of(one: NewBooking) -> int:
    if one.reservation_id is None:
        raise ValueError(f"{one.name} is not stored: a booking needs its reservation")
    return one.reservation_id
