"""Read the lost servers and the spare servers of a region: the input of the decision on replacements."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import sqlalchemy as sa

from libs.domain.fleet import FREE
from libs.domain.replacement import FailuresSnapshot
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Transaction

# It uses the index of unavailable servers, so it costs nothing while there are none.
_LOST = """
    WITH open AS (
        SELECT msb_id, datacenter_id FROM unavailability_events
        WHERE region_id = :region_id AND ended_at IS NULL AND starts_at <= :now AND kind = 'unplanned'
          AND scope IN ('msb', 'datacenter')
    )
    SELECT server_id, msbs.msb_id IN (SELECT msb_id FROM open WHERE msb_id IS NOT NULL)
                   OR msbs.datacenter_id IN (SELECT datacenter_id FROM open WHERE datacenter_id IS NOT NULL)
                   AS with_place
    FROM servers JOIN reservations ON reservation_id = target_reservation_id
    JOIN racks USING (rack_id) JOIN msbs ON msbs.msb_id = racks.msb_id
    WHERE servers.region_id = :region_id AND unavailability = 'unplanned'
      AND reservations.kind = 'guaranteed' AND deleted_at IS NULL
    ORDER BY server_id"""
_BUFFERS = """
    SELECT reservation_id, hardware_types.name AS hardware_type FROM reservations
    JOIN reservation_rru USING (reservation_id) JOIN hardware_types USING (hardware_type_id)
    WHERE region_id = :region_id AND kind = 'shared_buffer' AND deleted_at IS NULL"""
_SPARE = """
    SELECT server_id, (current_reservation_id IS NULL OR current_reservation_id = target_reservation_id)
        AND in_doubt_reservation_id IS NULL AND NOT unclean
        AND NOT EXISTS (SELECT FROM moves WHERE moves.server_id = servers.server_id AND status = 'running') AS ready
    FROM servers WHERE target_reservation_id = ANY(:buffers) AND unavailability = 'none' ORDER BY server_id"""


def load_failures(tx: Transaction, region_name: str, *, now: datetime) -> FailuresSnapshot | None:
    """Return a region with its lost servers. If the region has no lost server, return None at almost no cost.

    `tx` must come from Database.snapshot(), so that all data are of one moment. Raises NotFound if the region does not
    exist.
    """
    region_id = load_region(tx, region_name).region_id
    values = {"region_id": region_id, "now": now}
    lost = tx.execute(sa.text(_LOST), values).all()
    if not lost:
        return None
    fleet = load_fleet_snapshot(tx, region_name)
    buffers = {row.hardware_type: row.reservation_id for row in tx.execute(sa.text(_BUFFERS), values)}
    spare = tx.execute(sa.text(_SPARE), {"buffers": list(buffers.values())}).all()
    row_of = {int(reservation_id): row for row, reservation_id in enumerate(fleet.reservations.id)}

    buffer = np.array([row_of[buffers[t]] if t in buffers else FREE for t in fleet.hardware_types], np.int32)
    in_its_buffer = fleet.servers.lasting & (fleet.servers.target >= 0)
    in_its_buffer &= fleet.servers.target == buffer[fleet.servers.hardware_type]

    def rows(ids: list[int]) -> np.ndarray:
        found = np.zeros(len(fleet.servers), bool)
        found[np.searchsorted(fleet.servers.id, ids)] = True
        return found

    return FailuresSnapshot(
        fleet=fleet,
        lost=rows([row.server_id for row in lost]),
        with_place=rows([row.server_id for row in lost if row.with_place]),
        spare=in_its_buffer & rows([row.server_id for row in spare]),
        ready=in_its_buffer & rows([row.server_id for row in spare if row.ready]),
        buffer=buffer,
    )
