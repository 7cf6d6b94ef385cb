"""Read a region as arrays at one moment: the input of solves, and of assessments of capacity requests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Indices, Ints, Names
from libs.domain.canary import Canary
from libs.domain.cost_units import listed_units
from libs.domain.fleet import DELETED, FREE, FleetSnapshot, Servers, Topology
from libs.domain.region import Region
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import listed_resources, resources_table
from libs.domain.stored_policy import UnknownPrices
from libs.store.fleet.domain_limits import load_limits_table
from libs.store.fleet.guests import load_guests
from libs.store.fleet.loss_places import LossPlaces
from libs.store.fleet.policy_rollouts import load_canary
from libs.store.fleet.power_limits import load_power
from libs.store.fleet.present_classes import load_units
from libs.store.fleet.rack_uplinks import load_uplinks
from libs.store.fleet.regions import load_region
from libs.store.fleet.resources import load_asked, load_sizes_and_guests
from libs.store.fleet.topology import TopologyIds, load_server_domains, load_topology, rows_of
from libs.store.platform.bulk import copy_out, load_names
from libs.store.platform.database import Transaction

LIVE = "region_id = %(region)s AND deleted_at IS NULL AND NOT scheduled AND host_reservation_id IS NULL"
"""SQL condition on a row of `reservations`. True: the reservation is a row of snapshots, and servers may join it."""
# Servers of announced retirements. It is derived on each read, so that writers of servers need not maintain it.
LEAVING = """
    (rack_id IN (SELECT rack_id FROM retirements WHERE status = 'announced' AND rack_id IS NOT NULL
                 UNION ALL SELECT racks.rack_id FROM retirements JOIN racks USING (msb_id) WHERE status = 'announced'
                 UNION ALL SELECT racks.rack_id FROM retirements JOIN msbs USING (datacenter_id)
                     JOIN racks ON racks.msb_id = msbs.msb_id WHERE status = 'announced')
     OR server_id IN (SELECT server_id FROM retirements WHERE status = 'announced' AND server_id IS NOT NULL))"""

BOOKED = """
    servers.server_id IN (SELECT server_id FROM booked_servers JOIN reservations AS later USING (reservation_id)
                          WHERE later.scheduled AND later.deleted_at IS NULL)"""
"""SQL condition on a row of `servers`: it is kept for a reservation that begins later."""


def load_row_names(tx: Transaction, region_id: int) -> list[str]:
    """Return the names of the reservations that are rows of the region's snapshots."""
    query = f"SELECT name FROM reservations WHERE {LIVE} ORDER BY reservation_id"
    return [str(name) for name in load_names(tx, query, {"region": region_id})]


def load_fleet_snapshot(tx: Transaction, region_name: str, *, known_prices: bool = False) -> FleetSnapshot:
    """Return the input of a solve. `tx` must come from Database.snapshot(), so that all data are of one moment.

    Rows are ordered by id, and hardware types by name. The types are those of the region's servers and of its
    reservations' RRUs. Bindings to deleted reservations read DELETED. Scheduled reservations are left out. Raises
    NotFound. Raises UnknownPrices if a newer version set prices; `known_prices` leaves these out instead.
    """
    if tx.get_isolation_level() != "REPEATABLE READ":
        raise ValueError("a snapshot takes several queries: pass a transaction of Database.snapshot()")
    region = load_region(tx, region_name)
    if region.unknown_prices and not known_prices:
        raise UnknownPrices(region_name, region.unknown_prices)
    topology, topology_ids = load_topology(tx, region.region_id)
    type_ids, types = _hardware_types(tx, region.region_id)
    reservations = _reservations(tx, region.region_id, topology, topology_ids, type_ids)
    asked = load_asked(tx, reservations.id, with_guests=True)
    resources = listed_resources(types, load_sizes_and_guests(tx, region.region_id, types), asked.values())
    reservations = replace(reservations, resources=resources_table(list(asked.values()), resources))
    return FleetSnapshot(
        region=region.name,
        topology=topology,
        hardware_types=types,
        servers=_servers(tx, region.region_id, topology_ids, type_ids, reservations.id),
        reservations=reservations,
        policy=region.policy,
        canary=_canary(tx, region, known_prices),
        target_plan_id=region.target_plan_id,
        cost_units=listed_units(types, load_units(tx, region.region_id)),
        power=load_power(tx, region.region_id, types),
        resources=resources,
        guests=load_guests(tx, region.region_id),
        uplinks=load_uplinks(tx, region.region_id, topology.racks),
    )


def _canary(tx: Transaction, region: Region, known_prices: bool) -> Canary | None:
    try:
        return load_canary(tx, region)
    except UnknownPrices:
        if known_prices:
            return None
        raise


def _hardware_types(tx: Transaction, region_id: int) -> tuple[Ints, Names]:
    query = """
        SELECT hardware_type_id, name FROM hardware_types
        WHERE hardware_type_id IN (SELECT hardware_type_id FROM servers
                                   WHERE region_id = :region AND decommissioned_at IS NULL)
           OR hardware_type_id IN (SELECT hardware_type_id FROM reservation_rru JOIN reservations USING (reservation_id)
                                   WHERE region_id = :region AND deleted_at IS NULL AND NOT scheduled)
        ORDER BY name COLLATE "C" """
    rows = tx.execute(sa.text(query), {"region": region_id}).all()
    return np.array([i for i, _ in rows], np.int64), np.array([name for _, name in rows], object)


def _reservations(
    tx: Transaction, region_id: int, topology: Topology, topology_ids: TopologyIds, type_ids: Ints
) -> Reservations:
    parameters = {"region": region_id}
    chosen = f"FROM reservations WHERE {LIVE} ORDER BY reservation_id"
    places = LossPlaces(tuple(kind.name for kind in topology.kinds))
    found = copy_out(
        tx,
        f"SELECT reservation_id, capacity_rru, {', '.join(places.survives)}, coalesce(msb_spread_limit, 'infinity'), "
        f"coalesce(rack_spread_limit, 'infinity'), priority, move_cost, gbit_per_rru, "
        f"coalesce(msb_share_max, 'infinity'), generation {chosen}",
        parameters,
        {
            "id": ">i8",
            "capacity": ">f8",
            **places.fields("survives", "?", msb=True),
            "msb_limit": ">f8",
            "rack_limit": ">f8",
            "priority": ">i8",
            "move_cost": ">f8",
            "gbit_per_rru": ">f8",
            "msb_share_max": ">f8",
            "generation": ">i8",
        },
    )
    ids = found["id"].astype(np.int64)
    among = f"WHERE reservation_id IN (SELECT reservation_id FROM reservations WHERE {LIVE})"
    pair = {"reservation": ">i8", "column": ">i8", "value": ">f8"}
    rru, share = np.zeros((len(ids), len(type_ids))), np.full((len(ids), len(topology_ids.datacenters)), np.nan)
    pairs = copy_out(tx, f"SELECT reservation_id, hardware_type_id, rru FROM reservation_rru {among}", parameters, pair)
    rru[rows_of(pairs["reservation"], ids), _rows_of_types(pairs["column"], type_ids)] = pairs["value"]
    pairs = copy_out(
        tx, f"SELECT reservation_id, datacenter_id, share FROM reservation_affinity {among}", parameters, pair
    )
    share[rows_of(pairs["reservation"], ids), rows_of(pairs["column"], topology_ids.datacenters)] = pairs["value"]
    listed = {"reservation": ">i8", "column": ">i8"}
    pairs = copy_out(
        tx, f"SELECT reservation_id, datacenter_id FROM reservation_datacenters {among}", parameters, listed
    )
    limited = rows_of(pairs["reservation"], ids)
    allowed = np.ones(share.shape, bool)
    allowed[limited] = False
    allowed[limited, rows_of(pairs["column"], topology_ids.datacenters)] = True
    return Reservations(
        id=ids,
        name=load_names(tx, f"SELECT name {chosen}", parameters),
        capacity_rru=found["capacity"].astype(np.float64),
        survives_msb_loss=found["survives_0"].copy(),
        survives_loss_of=np.asarray(places.stacked(found, "survives", msb=True)[:, 1:], bool),
        msb_spread_limit=found["msb_limit"].astype(np.float64),
        rack_spread_limit=found["rack_limit"].astype(np.float64),
        rru=rru,
        resources=np.zeros((len(ids), 0)),
        affinity_share=share,
        priority=found["priority"].astype(np.int64),
        move_cost=found["move_cost"].astype(np.float64),
        gbit_per_rru=found["gbit_per_rru"].astype(np.float64),
        msb_share_max=found["msb_share_max"].astype(np.float64),
        domain_limits=load_limits_table(tx, ids, topology.kinds),
        allowed=allowed,
        generation=found["generation"].astype(np.int64),
    )


def _servers(
    tx: Transaction, region_id: int, topology_ids: TopologyIds, type_ids: Ints, reservation_ids: Ints
) -> Servers:
    parameters = {"region": region_id}
    chosen = "FROM servers WHERE region_id = %(region)s AND decommissioned_at IS NULL ORDER BY server_id"
    found = copy_out(
        tx,
        "SELECT server_id, rack_id, hardware_type_id, coalesce(current_reservation_id, 0), "
        f"coalesce(target_reservation_id, 0), in_use, unavailability <> 'unplanned', {LEAVING}, "
        f"unavailability = 'planned', {BOOKED}, generation {chosen}",
        parameters,
        {
            "id": ">i8",
            "rack": ">i8",
            "type": ">i8",
            "current": ">i8",
            "target": ">i8",
            "in_use": "?",
            "available": "?",
            "leaving": "?",
            "drained": "?",
            "booked": "?",
            "generation": ">i8",
        },
    )
    ids = found["id"].astype(np.int64)
    return Servers(
        id=ids,
        name=load_names(tx, f"SELECT name {chosen}", parameters),
        rack=rows_of(found["rack"], topology_ids.racks),
        hardware_type=_rows_of_types(found["type"], type_ids),
        current=_binding(found["current"], reservation_ids),
        target=_binding(found["target"], reservation_ids),
        in_use=found["in_use"].copy(),
        available=found["available"].copy(),
        leaving=found["leaving"].copy(),
        drained=found["drained"].copy(),
        awaited=np.zeros(len(found), bool),
        booked=found["booked"].copy(),
        domain=load_server_domains(tx, region_id, topology_ids, ids),
        generation=found["generation"].astype(np.int64),
    )


def _rows_of_types(ids: Ints, type_ids: Ints) -> Indices:
    """Return the row of each of `ids` in `type_ids`. Types are ordered by name, so `type_ids` need not ascend."""
    order = np.argsort(type_ids)
    return order[rows_of(ids, type_ids[order])].astype(np.int32)


def _binding(ids: Ints, reservation_ids: Ints) -> Indices:
    """Return the (S,) row of each reservation id: FREE for 0, DELETED for ids that are not among the reservations."""
    found = np.append(reservation_ids, -1)  # sentinel for ids beyond the last
    rows = rows_of(ids, reservation_ids)
    return np.where(ids == 0, FREE, np.where(found[rows] == ids, rows, DELETED)).astype(np.int32)
