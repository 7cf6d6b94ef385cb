"""Read what each MSB of a region holds now: the ground of the outlook for its loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats
from libs.domain.msb_outlook import LossGround
from libs.store.capacity.coverage import HELD
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.fleet.guests import ASKED
from libs.store.fleet.regions import load_region
from libs.store.fleet.resources import AMOUNT
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
    ORDER BY reservation_id"""
# Servers give their reservation its RRU, its guests theirs, and resources, as the same share of its RRU. Few
# reservations have any of the last two, so each is a query of its own.
_HELD = f"""
    SELECT current_reservation_id AS reservation_id, racks.{{place}} AS place, sum(rru) AS rru
    FROM servers JOIN racks USING (rack_id)
    JOIN reservation_rru ON reservation_rru.reservation_id = current_reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE servers.region_id = %(region_id)s AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2"""
_HELD_BY_GUESTS = f"""
    SELECT guest.reservation_id, racks.{{place}} AS place, sum(rru) AS rru
    FROM reservations AS guest JOIN servers ON current_reservation_id = host_reservation_id
    JOIN racks USING (rack_id)
    JOIN reservation_rru ON reservation_rru.reservation_id = guest.reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE guest.region_id = %(region_id)s AND deleted_at IS NULL AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2"""
_HELD_OF_RESOURCES = f"""
    SELECT more.reservation_id, resource, racks.{{place}} AS place, sum({AMOUNT} / amount * capacity_rru) AS rru
    FROM {ASKED} AS more JOIN reservations ON reservations.reservation_id = more.reservation_id
    JOIN servers ON current_reservation_id = more.reservation_id JOIN racks USING (rack_id)
    JOIN reservation_rru ON reservation_rru.reservation_id = more.reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    JOIN hardware_types ON hardware_types.hardware_type_id = servers.hardware_type_id
    WHERE more.region_id = %(region_id)s AND guest_id IS NULL AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2, 3"""
_RESOURCES = f"SELECT reservation_id, resource FROM {ASKED} AS more WHERE region_id = :region_id AND guest_id IS NULL"


Rows = Mapping[tuple[int, str], int]
"""Id of a reservation, and a resource or "" for its RRU -> its row of `LossGround.rows_rru`."""


def load_held(
    tx: Transaction, region_id: int, rows: Rows, places: Mapping[int, int], *, by: Literal["msb_id", "rack_id"]
) -> Floats:
    """Return the RRU (Q, P) that each row holds in each place.

    places   id of a place -> its column
    """
    held = np.zeros((len(rows), len(places)))
    values = {"region_id": region_id, "places": list(places)}
    numbers, resource = {"reservation_id": "i8", "place": "i8", "rru": "f8"}, {"resource": "O"}
    for query, further in ((_HELD, {}), (_HELD_BY_GUESTS, {}), (_HELD_OF_RESOURCES, resource)):
        asked = query.format(place=by, only=f"AND racks.{by} = ANY(%(places)s)")
        found = load_columns(tx, asked, values, numbers | further)
        ids = found["reservation_id"].tolist()
        of = found["resource"].tolist() if further else [""] * len(ids)
        row = np.array([rows.get(key, -1) for key in zip(ids, of, strict=True)], np.int64)
        column = np.array([places[one] for one in found["place"].tolist()], np.int64)
        held[row[row >= 0], column[row >= 0]] = found["rru"][row >= 0]
    return held


def load_loss_ground(tx: Transaction, region: str) -> LossGround:
    """Return the MSBs of a region by name, and the RRU that each guaranteed reservation holds in each of them.

    `tx` must come from Database.snapshot(), so that all data are of one moment. Raises NotFound.
    """
    return load_loss_rows(tx, region)[0]


def load_loss_rows(tx: Transaction, region: str) -> tuple[LossGround, Rows]:
    """Return what `load_loss_ground` does, and the rows of its reservations and resources."""
    values = {"region_id": load_region(tx, region).region_id}
    msbs = tx.execute(sa.text(_MSBS), values).all()
    reservations = tx.execute(sa.text(_RESERVATIONS), values).all()
    row_of = {row.reservation_id: r for r, row in enumerate(reservations)}
    asked = [one for one in tx.execute(sa.text(_RESOURCES), values) if one.reservation_id in row_of]
    rows = {(reservation_id, ""): r for reservation_id, r in row_of.items()}
    rows |= {(one.reservation_id, one.resource): len(rows) + k for k, one in enumerate(asked)}
    held = load_held(tx, values["region_id"], rows, {row.msb_id: m for m, row in enumerate(msbs)}, by="msb_id")
    ground = LossGround(
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
        held_rru=held[: len(reservations)],
        resource_of=np.array([row_of[one.reservation_id] for one in asked], np.int64),
        resource_rru=held[len(reservations) :],
    )
    return ground, rows
