"""Read what each MSB of a region holds now: the ground of the outlook for its loss."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa

from libs.domain.msb_outlook import LossGround
from libs.store.capacity.coverage import HELD
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.fleet.regions import load_region
from libs.store.platform.bulk import load_columns
from libs.store.platform.database import Transaction

# Racks first: a join of every server with the names of its places takes three times as long.
_MSBS = """
    WITH by_rack AS (
        SELECT rack_id, count(*) AS servers, count(*) FILTER (WHERE unavailability = 'unplanned') AS down,
               count(*) FILTER (WHERE in_use) AS in_use,
               count(*) FILTER (WHERE unavailability = 'none' AND current_reservation_id IN (
                   SELECT reservation_id FROM reservations WHERE region_id = :region_id AND kind = 'shared_buffer'
               )) AS spare
        FROM servers WHERE region_id = :region_id AND decommissioned_at IS NULL GROUP BY 1
    )
    SELECT msb_id, datacenters.name AS datacenter, msbs.name AS msb, sum(servers)::bigint AS servers,
           sum(down)::bigint AS down, sum(in_use)::bigint AS in_use, sum(spare)::bigint AS spare
    FROM by_rack JOIN racks USING (rack_id) JOIN msbs USING (msb_id) JOIN datacenters USING (datacenter_id)
    GROUP BY 1, 2, 3 ORDER BY datacenters.name COLLATE "C", msbs.name COLLATE "C" """
_RESERVATIONS = f"""
    SELECT reservation_id, name, owner, capacity_rru, {GRANTED_RRU} AS granted_rru, survives_msb_loss
    FROM reservations
    WHERE region_id = :region_id AND kind = 'guaranteed' AND NOT scheduled AND deleted_at IS NULL
      AND host_reservation_id IS NULL
    ORDER BY reservation_id"""
_HELD = f"""
    SELECT current_reservation_id AS reservation_id, msb_id, sum(rru) AS rru
    FROM servers JOIN racks USING (rack_id)
    JOIN reservation_rru ON reservation_rru.reservation_id = current_reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE servers.region_id = %(region_id)s AND decommissioned_at IS NULL AND {HELD}
    GROUP BY 1, 2"""


def load_loss_ground(tx: Transaction, region: str) -> LossGround:
    """Return the MSBs of a region by name, and the RRU that each guaranteed reservation holds in each of them.

    `tx` must come from Database.snapshot(), so that all data are of one moment. Raises NotFound.
    """
    values = {"region_id": load_region(tx, region).region_id}
    msbs = tx.execute(sa.text(_MSBS), values).all()
    reservations = tx.execute(sa.text(_RESERVATIONS), values).all()
    row_of = {row.reservation_id: r for r, row in enumerate(reservations)}
    column_of = {row.msb_id: m for m, row in enumerate(msbs)}
    held = np.zeros((len(reservations), len(msbs)))
    found = load_columns(tx, _HELD, values, {"reservation_id": "i8", "msb_id": "i8", "rru": "f8"})
    rows = np.array([row_of.get(one, -1) for one in found["reservation_id"].tolist()], np.int64)
    columns = np.array([column_of[one] for one in found["msb_id"].tolist()], np.int64)
    promised = rows >= 0
    held[rows[promised], columns[promised]] = found["rru"][promised]
    return LossGround(
        datacenter=np.array([row.datacenter for row in msbs], object),
        msb=np.array([row.msb for row in msbs], object),
        servers=np.array([row.servers for row in msbs], np.int64),
        down=np.array([row.down for row in msbs], np.int64),
        in_use=np.array([row.in_use for row in msbs], np.int64),
        spare=np.array([row.spare for row in msbs], np.int64),
        reservation=np.array([row.name for row in reservations], object),
        owner=np.array([row.owner for row in reservations], object),
        capacity_rru=np.array([row.capacity_rru for row in reservations], np.float64),
        granted_rru=np.array([row.granted_rru for row in reservations], np.float64),
        survives=np.array([row.survives_msb_loss for row in reservations], bool),
        held_rru=held,
    )
