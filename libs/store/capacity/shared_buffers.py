"""Shared random-failure buffers: one reservation per hardware type, sized from the fleet (RAS, 3.3.1 and 3.5.3)."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from libs.store.platform.database import Transaction

_SIZES = """
    sizes AS (
        SELECT t.hardware_type_id, t.name, ceil(:share * count(*) - 1e-9) AS capacity_rru
        FROM servers s JOIN hardware_types t USING (hardware_type_id)
        WHERE s.region_id = :region_id AND s.decommissioned_at IS NULL
        GROUP BY t.hardware_type_id, t.name
    ), buffers AS (
        SELECT r.reservation_id, v.hardware_type_id
        FROM reservations r JOIN reservation_rru v USING (reservation_id)
        WHERE r.region_id = :region_id AND r.kind = 'shared_buffer' AND r.deleted_at IS NULL
    )
"""
_CREATE = f"""
    WITH {_SIZES}, made AS (
        INSERT INTO reservations
            (region_id, name, kind, owner, host_profile, unit, capacity_rru, survives_msb_loss, created_at)
        SELECT :region_id, :prefix || name, 'shared_buffer', 'plimsoll', 'default', 'count', capacity_rru, false, :now
        FROM sizes
        WHERE capacity_rru > 0 AND hardware_type_id NOT IN (SELECT hardware_type_id FROM buffers)
        RETURNING reservation_id, name
    )
    INSERT INTO reservation_rru (reservation_id, hardware_type_id, rru)
    SELECT made.reservation_id, sizes.hardware_type_id, 1
    FROM made JOIN sizes ON made.name = :prefix || sizes.name
"""
# Change only rows with another size, so that no generation rises without a change.
_RESIZE = f"""
    WITH {_SIZES}
    UPDATE reservations r SET capacity_rru = sizes.capacity_rru
    FROM sizes JOIN buffers USING (hardware_type_id)
    WHERE r.reservation_id = buffers.reservation_id AND r.capacity_rru <> sizes.capacity_rru
"""
NAME_PREFIX = "shared-buffer-"
"""Prefix of the names of shared buffers. Owners may not use it."""


def size_shared_buffers(tx: Transaction, region_id: int, *, share: float, now: datetime) -> None:
    """Resize every hardware type's shared buffer to `share` of its servers, rounded up. Create missing ones.
    Idempotent.

    Imported buffers are resized too. At a share of 0, all buffers stay as they are.
    """
    if share == 0:
        return
    values = {"region_id": region_id, "share": share, "prefix": NAME_PREFIX}
    tx.execute(sa.text(_CREATE), {**values, "now": now})
    tx.execute(sa.text(_RESIZE), values)
