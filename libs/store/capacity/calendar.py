"""The coming changes of a region: reservations that end, reservations that begin, and the servers kept for these."""

from __future__ import annotations

from datetime import datetime
from types import MappingProxyType

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Indices
from libs.domain.booking import BEYOND_HORIZON
from libs.domain.calendar import Calendar, Windowed, horizon_end, window_of
from libs.domain.fleet import FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.store.capacity.reservation_specs import load_specs
from libs.store.fleet.present_classes import load_catalogue
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import LEAVING
from libs.store.platform.bulk import copy_out
from libs.store.platform.database import Transaction
from libs.store.tables import bookings, reservations

_LIVE = reservations.c.deleted_at.is_(None)
_ENDS = sa.text("""
    SELECT name, CAST(extract(epoch FROM ends_at) AS float8) FROM reservations
    WHERE region_id = :region_id AND deleted_at IS NULL AND NOT scheduled AND ends_at IS NOT NULL""")
_BOOKED = """
    SELECT reservation_id, server_id FROM booked_servers JOIN reservations USING (reservation_id)
    WHERE reservations.region_id = %(region)s AND scheduled AND deleted_at IS NULL ORDER BY reservation_id, server_id"""
# A booking is decided again after a time, which is shorter for one that is short. It is decided again at once if one of
# its servers cannot serve it.
_DUE = sa.text(f"""
    SELECT later.reservation_id FROM reservations AS later LEFT JOIN bookings USING (reservation_id)
    WHERE later.region_id = :region_id AND later.scheduled AND later.deleted_at IS NULL AND (
        bookings.observed_generation IS DISTINCT FROM later.generation
        OR (reason = :beyond AND later.starts_at <= :horizon)
        OR (reason <> :beyond AND decided_at <= CASE WHEN is_promise THEN :checked_before ELSE :looked_before END)
        OR (is_promise AND EXISTS (
            SELECT FROM booked_servers JOIN servers USING (server_id)
            LEFT JOIN reservations AS holder ON holder.reservation_id = servers.target_reservation_id
            WHERE booked_servers.reservation_id = later.reservation_id AND (
                servers.unavailability = 'unplanned' OR {LEAVING}
                OR (servers.unavailability = 'planned' AND target_reservation_id IS NULL
                    AND later.starts_at <= :maintained)
                OR (holder.deleted_at IS NULL AND holder.reservation_id IS NOT NULL
                    AND (holder.ends_at IS NULL
                         OR holder.ends_at > later.starts_at - make_interval(secs => :lead_s)))))))
    ORDER BY later.starts_at, later.reservation_id LIMIT :most""")


def load_calendar(tx: Transaction, snapshot: FleetSnapshot, *, now: datetime) -> Calendar:
    """Return the calendar of the region of `snapshot`, which must be of the same transaction."""
    region_id = load_region(tx, snapshot.region).region_id
    query = sa.select(reservations, bookings.c.is_promise, bookings.c.numbers.label("booking_numbers")).outerjoin(
        bookings, bookings.c.reservation_id == reservations.c.reservation_id
    )
    query = query.where(reservations.c.region_id == region_id, reservations.c.scheduled, _LIVE)
    rows = tx.execute(query.order_by(reservations.c.starts_at, reservations.c.reservation_id)).mappings().all()
    ends_s = MappingProxyType(dict(tx.execute(_ENDS, {"region_id": region_id}).tuples().all()))
    if not rows:
        return Calendar(now_s=now.timestamp(), ends_s=ends_s)
    specs, classes = load_specs(tx, rows), load_catalogue(tx, region_id).classes
    booked = _booked(tx, region_id, snapshot)
    found = []
    for row in rows:
        reservation_id = row["reservation_id"]
        spec = specs[reservation_id].following(classes)
        numbers = row["booking_numbers"] or {}
        found.append(
            Windowed(
                reservation_id=reservation_id,
                name=row["name"],
                generation=row["generation"],
                spec=spec,
                window=window_of(spec, snapshot.policy, now=now, begun=False),
                rows=booked.get(reservation_id, np.zeros(0, np.int32)),
                is_promise=bool(row["is_promise"]),
                short_rru=float(numbers.get("short_rru", np.inf)),
            )
        )
    return Calendar(now_s=now.timestamp(), ends_s=ends_s, scheduled=tuple(found))


def list_bookings_due(
    tx: Transaction,
    region_id: int,
    policy: RegionPolicy,
    *,
    now: datetime,
    looked_before: datetime,
    checked_before: datetime,
    maintained: datetime,
    limit: int,
) -> tuple[int, ...]:
    """Return the ids of the scheduled reservations whose booking must be decided again, earliest start first.

    looked_before   a booking that is short is decided again if that was last done by this time
    checked_before  a booking that is a promise is decided again if that was last done by this time
    maintained      a start before this time does not count on servers in maintenance
    """
    parameters = {
        "region_id": region_id,
        "beyond": BEYOND_HORIZON,
        "horizon": horizon_end(policy, now=now),
        "looked_before": looked_before,
        "checked_before": checked_before,
        "maintained": maintained,
        "lead_s": policy.booking_lead_s,
        "most": limit,
    }
    return tuple(tx.execute(_DUE, parameters).scalars())


def _booked(tx: Transaction, region_id: int, snapshot: FleetSnapshot) -> dict[int, Indices]:
    """Return the booked servers of each scheduled reservation, as rows of the snapshot."""
    pairs = copy_out(tx, _BOOKED, {"region": region_id}, {"reservation": ">i8", "server": ">i8"})
    ids, server = pairs["reservation"].astype(np.int64), pairs["server"].astype(np.int64)
    position = np.searchsorted(snapshot.servers.id, server)
    there = position < len(snapshot.servers)
    there[there] = snapshot.servers.id[position[there]] == server[there]  # others are decommissioned
    ids, rows = ids[there], position[there].astype(np.int32)
    found, first, count = np.unique(ids, return_index=True, return_counts=True)
    spans = zip(found.tolist(), first.tolist(), count.tolist(), strict=True)
    return {reservation_id: rows[start : start + n] for reservation_id, start, n in spans}
