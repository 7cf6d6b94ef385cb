"""Servers of a region counted by MSB and hardware type, by one statement that reads each server once."""

from __future__ import annotations

import sqlalchemy as sa

from libs.domain.server_counts import ServerCounts
from libs.store.capacity.coverage import BY_TARGET, HELD
from libs.store.fleet.guests import holder_id
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import BOOKED, LEAVING
from libs.store.platform.database import Transaction
from libs.store.platform.refusals import NotFound

_COUNTED = """
    SELECT datacenters.name AS datacenter, msbs.name AS msb, hardware_types.name AS hardware_type, counts.*
    FROM ({counts}) AS counts JOIN msbs USING (msb_id) JOIN datacenters USING (datacenter_id)
    JOIN hardware_types USING (hardware_type_id)
    ORDER BY datacenters.name COLLATE "C", msbs.name COLLATE "C", hardware_types.name COLLATE "C" """
_OF_REGION = f"""
    SELECT msb_id, hardware_type_id, count(*) AS servers,
           count(target_reservation_id) AS bound, count(current_reservation_id) AS joined,
           count(*) FILTER (WHERE target_reservation_id IS DISTINCT FROM current_reservation_id
                            AND target_reservation_id IS NOT NULL) AS arriving,
           count(*) FILTER (WHERE target_reservation_id IS DISTINCT FROM current_reservation_id
                            AND current_reservation_id IS NOT NULL) AS departing,
           count(*) FILTER (WHERE target_reservation_id IS DISTINCT FROM current_reservation_id) AS to_move,
           count(*) FILTER (WHERE target_reservation_id IS NULL AND unavailability <> 'unplanned'
                            AND NOT {LEAVING} AND NOT {BOOKED}) AS free,
           count(*) FILTER (WHERE in_use) AS in_use,
           count(*) FILTER (WHERE unavailability = 'unplanned') AS down,
           count(*) FILTER (WHERE unavailability = 'planned') AS maintenance,
           NULL::float AS held_rru, NULL::float AS target_rru
    FROM servers JOIN racks USING (rack_id)
    WHERE servers.region_id = :region_id AND decommissioned_at IS NULL GROUP BY 1, 2"""
_OF_RESERVATION = f"""
    SELECT msb_id, servers.hardware_type_id, count(*) AS servers,
           count(*) FILTER (WHERE target_reservation_id = :id) AS bound,
           count(*) FILTER (WHERE current_reservation_id = :id) AS joined,
           count(*) FILTER (WHERE target_reservation_id = :id
                            AND current_reservation_id IS DISTINCT FROM :id) AS arriving,
           count(*) FILTER (WHERE current_reservation_id = :id
                            AND target_reservation_id IS DISTINCT FROM :id) AS departing,
           count(*) FILTER (WHERE target_reservation_id IS DISTINCT FROM current_reservation_id) AS to_move,
           0::bigint AS free, count(*) FILTER (WHERE in_use AND current_reservation_id = :id) AS in_use,
           count(*) FILTER (WHERE unavailability = 'unplanned') AS down,
           count(*) FILTER (WHERE unavailability = 'planned') AS maintenance,
           coalesce(sum(rru) FILTER (WHERE current_reservation_id = :id AND {HELD}), 0) AS held_rru,
           coalesce(sum(rru) FILTER (WHERE target_reservation_id = :id AND {BY_TARGET}), 0) AS target_rru
    FROM servers JOIN racks USING (rack_id)
    LEFT JOIN reservation_rru ON reservation_rru.reservation_id = :worth_to
                             AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE current_reservation_id = :id OR target_reservation_id = :id GROUP BY 1, 2"""
_ID = """
    SELECT reservation_id FROM reservations
    WHERE region_id = :region_id AND name = :name AND deleted_at IS NULL"""


def count_by_place(tx: Transaction, region: str, *, reservation: str | None = None) -> tuple[ServerCounts, ...]:
    """Return the counts of a region's servers, or of those bound to one live reservation by target or now. Places
    without a server are omitted. They are ordered by the names of datacenter, MSB and hardware type. A guest counts the
    servers of its host, with its own RRU.

    Raises NotFound.
    """
    region_id = load_region(tx, region).region_id
    if reservation is None:
        rows = tx.execute(sa.text(_COUNTED.format(counts=_OF_REGION)), {"region_id": region_id})
    else:
        found = tx.execute(sa.text(_ID), {"region_id": region_id, "name": reservation}).scalar_one_or_none()
        if found is None:
            raise NotFound("reservation", reservation)
        ids = {"id": holder_id(tx, found), "worth_to": found}
        rows = tx.execute(sa.text(_COUNTED.format(counts=_OF_RESERVATION)), ids)
    names = ServerCounts.__dataclass_fields__
    return tuple(ServerCounts(**{name: row[name] for name in names}) for row in rows.mappings())
