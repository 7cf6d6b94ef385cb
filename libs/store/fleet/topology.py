"""The places of a region: datacenters, MSBs and racks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Indices, Ints, Names
from libs.domain.fleet import Topology
from libs.store.platform.bulk import copy_in, copy_out, load_names, new_ids
from libs.store.platform.database import Transaction
from libs.store.tables import datacenters, msbs, racks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopologyIds:
    """The ids of the places in a Topology, in ascending order.

    datacenters, msbs, racks   (D,) (M,) (K,) int
    """

    datacenters: Ints
    msbs: Ints
    racks: Ints


def add_topology(tx: Transaction, region_id: int, topology: Topology) -> TopologyIds:
    """Write the topology of a new region. Raises NotPossible if two places share a name."""
    ids = TopologyIds(
        datacenters=new_ids(tx, datacenters.c.datacenter_id, len(topology.datacenters)),
        msbs=new_ids(tx, msbs.c.msb_id, len(topology.msbs)),
        racks=new_ids(tx, racks.c.rack_id, len(topology.racks)),
    )
    regions = np.full(max(map(len, (ids.datacenters, ids.msbs, ids.racks))), region_id)
    copy_in(
        tx,
        datacenters,
        {
            "datacenter_id": ids.datacenters,
            "region_id": regions[: len(ids.datacenters)],
            "name": topology.datacenters,
        },
    )
    copy_in(
        tx,
        msbs,
        {
            "msb_id": ids.msbs,
            "region_id": regions[: len(ids.msbs)],
            "datacenter_id": ids.datacenters[topology.msb_datacenter],
            "name": topology.msbs,
        },
    )
    copy_in(
        tx,
        racks,
        {
            "rack_id": ids.racks,
            "region_id": regions[: len(ids.racks)],
            "msb_id": ids.msbs[topology.rack_msb],
            "name": topology.racks,
        },
    )
    return ids


def load_topology(tx: Transaction, region_id: int) -> tuple[Topology, TopologyIds]:
    """Return the topology of a region, each level ordered by id."""
    region = {"region": region_id}
    datacenter_ids, datacenter_names, _ = _load(tx, "datacenter", "datacenter_id", region)
    msb_ids, msb_names, msb_datacenter = _load(tx, "msb", "datacenter_id", region)
    rack_ids, rack_names, rack_msb = _load(tx, "rack", "msb_id", region)
    topology = Topology(
        datacenters=datacenter_names,
        msbs=msb_names,
        racks=rack_names,
        msb_datacenter=rows_of(msb_datacenter, datacenter_ids),
        rack_msb=rows_of(rack_msb, msb_ids),
    )
    return topology, TopologyIds(datacenters=datacenter_ids, msbs=msb_ids, racks=rack_ids)


def rows_of(ids: Ints, among: Ints) -> Indices:
    """Return the (N,) row of each id in the ascending array `among`, which must contain it."""
    return np.searchsorted(among, ids).astype(np.int32)


def _load(tx: Transaction, noun: str, parent: str, region: Mapping[str, object]) -> tuple[Ints, Names, Ints]:
    tail = f"FROM {noun}s WHERE region_id = %(region)s ORDER BY {noun}_id"
    found = copy_out(tx, f"SELECT {noun}_id, {parent} {tail}", region, {"id": ">i8", "parent": ">i8"})
    return found["id"].astype(np.int64), load_names(tx, f"SELECT name {tail}", region), found["parent"].astype(np.int64)
