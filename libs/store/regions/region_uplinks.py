"""The traffic of a region's racks as it is now, beside the limits of their uplinks."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from libs.domain.uplinks import RackTraffic
from libs.store.capacity.coverage import BY_TARGET
from libs.store.fleet.rack_uplinks import load_rack_uplinks
from libs.store.platform.database import Transaction

# Reservations that send nothing are left out before the join with servers.
_TRAFFIC = f"""
    WITH sent AS (
        SELECT reservation_id, hardware_type_id, rru * gbit_per_rru AS gbit
        FROM reservations JOIN reservation_rru USING (reservation_id)
        WHERE region_id = :region_id AND deleted_at IS NULL AND gbit_per_rru > 0),
    bound AS (
        SELECT rack_id, 0 AS is_target, gbit FROM servers
        JOIN sent ON sent.reservation_id = current_reservation_id
                 AND sent.hardware_type_id = servers.hardware_type_id
        WHERE region_id = :region_id AND decommissioned_at IS NULL AND {BY_TARGET}
        UNION ALL
        SELECT rack_id, 1, gbit FROM servers
        JOIN sent ON sent.reservation_id = target_reservation_id
                 AND sent.hardware_type_id = servers.hardware_type_id
        WHERE region_id = :region_id AND decommissioned_at IS NULL AND {BY_TARGET})
    SELECT racks.name, current_gbit, target_gbit FROM (
        SELECT rack_id, coalesce(sum(gbit) FILTER (WHERE is_target = 0), 0) AS current_gbit,
               coalesce(sum(gbit) FILTER (WHERE is_target = 1), 0) AS target_gbit
        FROM bound GROUP BY rack_id) AS of_rack
    JOIN racks USING (rack_id)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUplinks:
    """The uplinks of a region.

    limits   rack -> Gbit/s, as operators set them
    traffic  of the racks that have a limit, the one that is most above its limit by targets first
    """

    limits: dict[str, float]
    generation: int
    traffic: tuple[RackTraffic, ...]


def load_region_uplinks(tx: Transaction, region_id: int) -> RegionUplinks:
    """Return the limits of a region's racks, and what each of them sends."""
    limits, generation = load_rack_uplinks(tx, region_id)
    rows = {} if not limits else {row.name: row for row in tx.execute(sa.text(_TRAFFIC), {"region_id": region_id})}
    found = [
        RackTraffic(
            rack=name,
            limit_gbit=limit,
            current_gbit=float(rows[name].current_gbit) if name in rows else 0.0,
            target_gbit=float(rows[name].target_gbit) if name in rows else 0.0,
        )
        for name, limit in limits.items()
    ]
    traffic = tuple(sorted(found, key=lambda one: (one.limit_gbit - one.target_gbit, one.rack)))
    return RegionUplinks(limits=limits, generation=generation, traffic=traffic)
