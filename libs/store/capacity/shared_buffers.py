"""Shared random-failure buffers: one reservation per hardware type, sized from the fleet (RAS, 3.3.1 and 3.5.3)."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.platform.database import Transaction

# `spread` is the share of a buffer that one MSB may hold without cost: an even share, in whole servers.
# `wanted` has for each hardware type the host profiles of the reservations that use it.
_SIZES = """
    sizes AS (
        SELECT hardware_type_id, name, capacity_rru,
               CASE WHEN capacity_rru > 0 THEN ceil(capacity_rru / msbs) / capacity_rru END AS spread
        FROM (
            SELECT t.hardware_type_id, t.name, ceil(:share * count(*) - 1e-9) AS capacity_rru,
                   count(DISTINCT racks.msb_id) AS msbs
            FROM servers s JOIN hardware_types t USING (hardware_type_id) JOIN racks USING (rack_id)
            WHERE s.region_id = :region_id AND s.decommissioned_at IS NULL
            GROUP BY t.hardware_type_id, t.name
        ) AS counted
    ), buffers AS (
        SELECT r.reservation_id, v.hardware_type_id
        FROM reservations r JOIN reservation_rru v USING (reservation_id)
        WHERE r.region_id = :region_id AND r.kind = 'shared_buffer' AND r.deleted_at IS NULL
    ), bound AS (
        SELECT target_reservation_id AS reservation_id, hardware_type_id, count(*) AS servers FROM servers
        WHERE region_id = :region_id AND target_reservation_id IS NOT NULL GROUP BY 1, 2
    ), wanted AS (
        SELECT v.hardware_type_id, r.host_profile, count(bound.servers) AS holders,
               coalesce(sum(bound.servers), 0) AS servers, count(*) AS takers
        FROM reservations r JOIN reservation_rru v USING (reservation_id)
        LEFT JOIN bound USING (reservation_id, hardware_type_id)
        WHERE r.region_id = :region_id AND r.kind = 'guaranteed' AND r.deleted_at IS NULL AND NOT r.scheduled
          AND r.host_reservation_id IS NULL
        GROUP BY v.hardware_type_id, r.host_profile
    ), profiles AS (
        SELECT DISTINCT ON (hardware_type_id) hardware_type_id, host_profile, holders FROM wanted
        ORDER BY hardware_type_id, holders DESC, servers DESC, takers DESC, host_profile
    )
"""
_CREATE = f"""
    WITH {_SIZES}, made AS (
        INSERT INTO reservations
            (region_id, name, kind, owner, host_profile, unit, capacity_rru, survives_msb_loss, msb_spread_limit,
             created_at)
        SELECT :region_id, :prefix || name, 'shared_buffer', 'plimsoll', coalesce(host_profile, 'default'), 'count',
               capacity_rru, false, spread, :now
        FROM sizes LEFT JOIN profiles USING (hardware_type_id)
        WHERE capacity_rru > 0 AND hardware_type_id NOT IN (SELECT hardware_type_id FROM buffers)
        RETURNING reservation_id, name
    )
    INSERT INTO reservation_rru (reservation_id, hardware_type_id, rru)
    SELECT made.reservation_id, sizes.hardware_type_id, 1
    FROM made JOIN sizes ON made.name = :prefix || sizes.name
"""
# Change only rows that differ, so that no generation rises without a change. A profile gives way only to one that more
# reservations want: each change reboots the spare servers.
_RESIZE = f"""
    WITH {_SIZES}, new AS (
        SELECT r.reservation_id, sizes.capacity_rru, spread,
               CASE WHEN profiles.holders > coalesce(own.holders, 0) THEN profiles.host_profile
                    ELSE r.host_profile END AS host_profile
        FROM buffers JOIN sizes USING (hardware_type_id) JOIN reservations r USING (reservation_id)
        LEFT JOIN profiles USING (hardware_type_id)
        LEFT JOIN wanted own
            ON own.hardware_type_id = buffers.hardware_type_id AND own.host_profile = r.host_profile
    )
    UPDATE reservations r
    SET capacity_rru = new.capacity_rru, msb_spread_limit = new.spread, host_profile = new.host_profile,
        profile_changed = r.profile_changed OR r.host_profile <> new.host_profile
    FROM new
    WHERE r.reservation_id = new.reservation_id
      AND (r.capacity_rru, r.msb_spread_limit, r.host_profile)
          IS DISTINCT FROM (new.capacity_rru, new.spread, new.host_profile)
"""
_DELETE = """
    UPDATE reservations SET deleted_at = :now
    WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL
    RETURNING reservation_id"""
NAME_PREFIX = "shared-buffer-"
"""Prefix of the names of shared buffers. Owners may not use it."""


def size_shared_buffers(tx: Transaction, region_id: int, *, share: float, now: datetime) -> None:
    """Resize every hardware type's shared buffer to `share` of its servers, rounded up, evenly over MSBs. Create
    missing ones. Each stands in the host profile that most reservations with servers of its type want. Idempotent.

    Imported buffers are resized too. At a share of 0 all buffers keep their sizes. They come from an import, because
    delete_shared_buffers deletes all others when the share becomes 0.
    """
    if share == 0:
        return
    values = {"region_id": region_id, "share": share, "prefix": NAME_PREFIX}
    tx.execute(sa.text(_CREATE), {**values, "now": now})
    tx.execute(sa.text(_RESIZE), values)


def delete_shared_buffers(tx: Transaction, region_id: int, *, now: datetime) -> list[int]:
    """Mark all shared buffers of a region as deleted, and return their ids. The caller must then call
    plans.commit_release for each, in the same transaction.
    """
    return sorted(tx.execute(sa.text(_DELETE), {"region_id": region_id, "now": now}).scalars())


def load_shared_buffer_ids(tx: Transaction, region_id: int) -> frozenset[int]:
    """Return the ids of the shared buffers of a region."""
    query = """SELECT reservation_id FROM reservations
               WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL"""
    return frozenset(tx.execute(sa.text(query), {"region_id": region_id}).scalars())
