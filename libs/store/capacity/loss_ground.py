"""Read what reservations hold now in each domain of one kind: the ground of the outlook for its loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Floats
from libs.domain.domain_kind import RACK, unplaced_name
from libs.domain.domain_limits import DATACENTER, MSB
from libs.domain.loss_outlook import LossGround
from libs.store.capacity.coverage import HELD
from libs.store.capacity.ungranted import GRANTED_RRU
from libs.store.fleet.guests import ASKED
from libs.store.fleet.loss_places import LossPlaces
from libs.store.fleet.regions import load_region
from libs.store.fleet.resources import AMOUNT
from libs.store.platform.bulk import load_columns
from libs.store.platform.database import Transaction

_PARENTS = """JOIN racks ON racks.rack_id = grouped.id JOIN msbs USING (msb_id)
         JOIN datacenters USING (datacenter_id)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The domains of one kind in SQL.

    of          id of a server's domain, after `servers JOIN racks USING (rack_id)` and `joins`
    survives    condition on `reservations`: whether it survives the loss of any one of them
    grouped_by  expression, after `servers` and `by`, that groups servers by domain or finer
    by          the joins that `grouped_by` needs
    named       joins of `grouped`, whose `id` is that expression, with what has these values of a domain:
    id, datacenter, name
    """

    of: str
    joins: str = ""
    survives: str = "false"
    grouped_by: str = "servers.rack_id"
    by: str = ""
    named: str = _PARENTS
    id: str
    datacenter: str = "datacenters.name"
    name: str


# Racks first: a join of every server with the names of its places takes three times as long.
_PLACES = {
    DATACENTER: _Places(
        of="msbs.datacenter_id", joins="JOIN msbs USING (msb_id)", id="datacenter_id", name="datacenters.name"
    ),
    MSB: _Places(of="racks.msb_id", survives="survives_msb_loss", id="msb_id", name="msbs.name"),
    RACK: _Places(of="racks.rack_id", id="rack_id", name="racks.name"),
}


def _places_of(kind: str) -> _Places:
    if kind in _PLACES:
        return _PLACES[kind]
    further = LossPlaces((kind,))
    return _Places(
        of=further.domains[0],
        joins=further.joins,
        survives=further.survives[1],
        grouped_by=further.domains[0],
        by=further.joins,
        named="LEFT JOIN domains ON domain_id = grouped.id",
        id="grouped.id",
        datacenter="CAST(NULL AS text)",
        name="domains.name",
    )


_DOMAINS = """
    WITH grouped AS (
        SELECT {grouped_by} AS id, count(*) AS servers, count(*) FILTER (WHERE unavailability = 'unplanned') AS down,
               count(*) FILTER (WHERE in_use) AS in_use,
               count(*) FILTER (WHERE unavailability = 'none' AND current_reservation_id IN (
                   SELECT reservation_id FROM reservations WHERE region_id = :region_id AND kind = 'shared_buffer'
               )) AS spare
        FROM servers {by} WHERE servers.region_id = :region_id AND decommissioned_at IS NULL GROUP BY 1
    )
    SELECT {id} AS id, {datacenter} AS datacenter, {name} AS domain, sum(servers)::bigint AS servers,
           sum(down)::bigint AS down, sum(in_use)::bigint AS in_use, sum(spare)::bigint AS spare
    FROM grouped {named} GROUP BY 1, 2, 3 ORDER BY {datacenter} COLLATE "C", {name} COLLATE "C" """
_RESERVATIONS = f"""
    SELECT reservation_id, name, owner, capacity_rru, {GRANTED_RRU} AS granted_rru, {{survives}} AS survives
    FROM reservations
    WHERE region_id = :region_id AND kind = 'guaranteed' AND NOT scheduled AND deleted_at IS NULL
    ORDER BY reservation_id"""
# Servers give their reservation its RRU, its guests theirs, and resources, as the same share of its RRU. Few
# reservations have any of the last two, so each is a query of its own.
_HELD = f"""
    SELECT current_reservation_id AS reservation_id, {{place}} AS place, sum(rru) AS rru
    FROM servers JOIN racks USING (rack_id) {{joins}}
    JOIN reservation_rru ON reservation_rru.reservation_id = current_reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE servers.region_id = %(region_id)s AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2"""
_HELD_BY_GUESTS = f"""
    SELECT guest.reservation_id, {{place}} AS place, sum(rru) AS rru
    FROM reservations AS guest JOIN servers ON current_reservation_id = host_reservation_id
    JOIN racks USING (rack_id) {{joins}}
    JOIN reservation_rru ON reservation_rru.reservation_id = guest.reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    WHERE guest.region_id = %(region_id)s AND deleted_at IS NULL AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2"""
_HELD_OF_RESOURCES = f"""
    SELECT more.reservation_id, resource, {{place}} AS place, sum({AMOUNT} / amount * capacity_rru) AS rru
    FROM {ASKED} AS more JOIN reservations ON reservations.reservation_id = more.reservation_id
    JOIN servers ON current_reservation_id = more.reservation_id JOIN racks USING (rack_id) {{joins}}
    JOIN reservation_rru ON reservation_rru.reservation_id = more.reservation_id
                        AND reservation_rru.hardware_type_id = servers.hardware_type_id
    JOIN hardware_types ON hardware_types.hardware_type_id = servers.hardware_type_id
    WHERE more.region_id = %(region_id)s AND guest_id IS NULL AND decommissioned_at IS NULL AND {HELD} {{only}}
    GROUP BY 1, 2, 3"""
_RESOURCES = f"SELECT reservation_id, resource FROM {ASKED} AS more WHERE region_id = :region_id AND guest_id IS NULL"


Rows = Mapping[tuple[int, str], int]
"""Id of a reservation, and a resource or "" for its RRU -> its row of `LossGround.rows_rru`."""


def load_held(
    tx: Transaction, region_id: int, rows: Rows, places: Mapping[int, int], *, kind: str, among: bool = True
) -> Floats:
    """Return the RRU (Q, P) that each row holds in each place.

    places   id of a place -> its column; UNPLACED for servers without a place of a further kind
    kind     of the places: DATACENTER, MSB, RACK, or a further kind
    among    whether the region has more places of the kind. A condition on thousands of places takes a second
    """
    of = _places_of(kind)
    held = np.zeros((len(rows), len(places)))
    values = {"region_id": region_id, "places": list(places)}
    numbers, resource = {"reservation_id": "i8", "place": "i8", "rru": "f8"}, {"resource": "O"}
    for query, further in ((_HELD, {}), (_HELD_BY_GUESTS, {}), (_HELD_OF_RESOURCES, resource)):
        only = f"AND {of.of} = ANY(%(places)s)" if among else ""
        asked = query.format(place=of.of, joins=of.joins, only=only)
        found = load_columns(tx, asked, values, numbers | further)
        ids = found["reservation_id"].tolist()
        resources = found["resource"].tolist() if further else [""] * len(ids)
        row = np.array([rows.get(key, -1) for key in zip(ids, resources, strict=True)], np.int64)
        column = np.array([places[one] for one in found["place"].tolist()], np.int64)
        held[row[row >= 0], column[row >= 0]] = found["rru"][row >= 0]
    return held


def load_loss_ground(tx: Transaction, region: str, kind: str = MSB) -> LossGround:
    """Return the domains of one kind of a region by name, and the RRU that each guaranteed reservation holds in each.

    kind   DATACENTER, MSB, RACK, or a further kind of the region. Its servers without a place are one domain

    `tx` must come from Database.snapshot(), so that all data are of one moment. Raises NotFound.
    """
    return load_loss_rows(tx, region, kind)[0]


def load_loss_rows(tx: Transaction, region: str, kind: str = MSB) -> tuple[LossGround, Rows]:
    """Return what `load_loss_ground` does, and the rows of its reservations and resources."""
    of = _places_of(kind)
    values = {"region_id": load_region(tx, region).region_id}
    parts = {one.name: getattr(of, one.name) for one in fields(of)}
    domains = tx.execute(sa.text(_DOMAINS.format(**parts)), values).all()
    reservations = tx.execute(sa.text(_RESERVATIONS.format(survives=of.survives)), values).all()
    row_of = {row.reservation_id: r for r, row in enumerate(reservations)}
    asked = [one for one in tx.execute(sa.text(_RESOURCES), values) if one.reservation_id in row_of]
    rows = {(reservation_id, ""): r for reservation_id, r in row_of.items()}
    rows |= {(one.reservation_id, one.resource): len(rows) + k for k, one in enumerate(asked)}
    places = {row.id: m for m, row in enumerate(domains)}
    held = load_held(tx, values["region_id"], rows, places, kind=kind, among=False)
    ground = LossGround(
        kind=kind,
        domain=np.array([unplaced_name(kind) if row.domain is None else row.domain for row in domains], object),
        datacenter=np.array([row.datacenter for row in domains], object),
        servers=np.array([row.servers for row in domains], np.int64),
        down=np.array([row.down for row in domains], np.int64),
        in_use=np.array([row.in_use for row in domains], np.int64),
        spare=np.array([row.spare for row in domains], np.int64),
        reservation=np.array([row.name for row in reservations], object),
        owner=np.array([row.owner for row in reservations], object),
        capacity_rru=np.array([row.capacity_rru for row in reservations], np.float64),
        granted_rru=np.array([row.granted_rru for row in reservations], np.float64),
        survives=np.array([row.survives for row in reservations], bool),
        held_rru=held[: len(reservations)],
        resource_of=np.array([row_of[one.reservation_id] for one in asked], np.int64),
        resource_rru=held[len(reservations) :],
    )
    return ground, rows
