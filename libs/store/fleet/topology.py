"""The places of a region: datacenters, MSBs and racks, and domains of further kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from libs.domain.arrays import Indices, Ints, Names
from libs.domain.domain_kind import UNPLACED, DomainKind
from libs.domain.fleet import Topology
from libs.store.platform.bulk import Column, copy_in, copy_out, load_names, new_ids
from libs.store.platform.database import Transaction
from libs.store.tables import datacenters, domains, msbs, racks, server_domains


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopologyIds:
    """The ids of the places in a Topology, in ascending order.

    datacenters, msbs, racks   (D,) (M,) (K,) int
    domains                    (N,) int per kind of Topology.kinds
    """

    datacenters: Ints
    msbs: Ints
    racks: Ints
    domains: tuple[Ints, ...]


def add_topology(tx: Transaction, region_id: int, topology: Topology) -> TopologyIds:
    """Write the topology of a new region. Raises NotPossible if two places share a name."""
    ids = TopologyIds(
        datacenters=new_ids(tx, datacenters.c.datacenter_id, len(topology.datacenters)),
        msbs=new_ids(tx, msbs.c.msb_id, len(topology.msbs)),
        racks=new_ids(tx, racks.c.rack_id, len(topology.racks)),
        domains=tuple(new_ids(tx, domains.c.domain_id, len(kind.domains)) for kind in topology.kinds),
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
    for kind, domain_ids in zip(topology.kinds, ids.domains, strict=True):
        count = len(domain_ids)
        columns: dict[str, Column] = {
            "domain_id": domain_ids,
            "region_id": [region_id] * count,
            "kind": [kind.name] * count,
            "name": kind.domains,
        }
        copy_in(tx, domains, columns)
    return ids


def add_server_domains(
    tx: Transaction, region_id: int, topology: Topology, ids: TopologyIds, server_ids: Ints, domain: Indices
) -> None:
    """Write the domain of each kind of new servers. `domain` is (S, J), or UNPLACED."""
    for j, kind in enumerate(topology.kinds):
        rows = np.flatnonzero(domain[:, j] != UNPLACED)
        columns = {
            "region_id": [region_id] * len(rows),
            "server_id": server_ids[rows],
            "kind": [kind.name] * len(rows),
            "domain_id": ids.domains[j][domain[rows, j]],
        }
        copy_in(tx, server_domains, columns)


def load_server_domains(tx: Transaction, region_id: int, ids: TopologyIds, server_ids: Ints) -> Indices:
    """Return the domain of each kind of the servers with the ascending ids `server_ids`, (S, J), or UNPLACED."""
    found = np.full((len(server_ids), len(ids.domains)), UNPLACED, np.int32)
    if not ids.domains or not len(server_ids):
        return found
    query = "SELECT server_id, domain_id FROM server_domains WHERE region_id = %(region)s"
    pairs = copy_out(tx, query, {"region": region_id}, {"server": ">i8", "domain": ">i8"})
    pairs = pairs[np.isin(pairs["server"], server_ids)]
    row = rows_of(pairs["server"].astype(np.int64), server_ids)
    for j, domain_ids in enumerate(ids.domains):
        of_kind = np.isin(pairs["domain"], domain_ids)
        found[row[of_kind], j] = rows_of(pairs["domain"][of_kind].astype(np.int64), domain_ids)
    return found


def load_topology(tx: Transaction, region_id: int) -> tuple[Topology, TopologyIds]:
    """Return the topology of a region, each level ordered by id."""
    region = {"region": region_id}
    datacenter_ids, datacenter_names, _ = _load(tx, "datacenter", "datacenter_id", region)
    msb_ids, msb_names, msb_datacenter = _load(tx, "msb", "datacenter_id", region)
    rack_ids, rack_names, rack_msb = _load(tx, "rack", "msb_id", region)
    kinds, domain_ids = _load_kinds(tx, region_id)
    topology = Topology(
        datacenters=datacenter_names,
        msbs=msb_names,
        racks=rack_names,
        msb_datacenter=rows_of(msb_datacenter, datacenter_ids),
        rack_msb=rows_of(rack_msb, msb_ids),
        kinds=kinds,
    )
    return topology, TopologyIds(datacenters=datacenter_ids, msbs=msb_ids, racks=rack_ids, domains=domain_ids)


def _load_kinds(tx: Transaction, region_id: int) -> tuple[tuple[DomainKind, ...], tuple[Ints, ...]]:
    """Return the further kinds of a region in order of name, and the ascending ids of the domains of each."""
    query = sa.select(domains.c.kind, domains.c.domain_id, domains.c.name).where(domains.c.region_id == region_id)
    of_kind: dict[str, list[tuple[int, str]]] = {}
    for kind, domain_id, name in tx.execute(query.order_by(domains.c.domain_id)).tuples():
        of_kind.setdefault(kind, []).append((domain_id, name))
    found = sorted(of_kind.items())
    return (
        tuple(DomainKind(name=kind, domains=np.array([name for _, name in rows], object)) for kind, rows in found),
        tuple(np.array([domain_id for domain_id, _ in rows], np.int64) for _, rows in found),
    )


def rows_of(ids: Ints, among: Ints) -> Indices:
    """Return the (N,) row of each id in the ascending array `among`, which must contain it."""
    return np.searchsorted(among, ids).astype(np.int32)


def _load(tx: Transaction, noun: str, parent: str, region: Mapping[str, object]) -> tuple[Ints, Names, Ints]:
    tail = f"FROM {noun}s WHERE region_id = %(region)s ORDER BY {noun}_id"
    found = copy_out(tx, f"SELECT {noun}_id, {parent} {tail}", region, {"id": ">i8", "parent": ">i8"})
    return found["id"].astype(np.int64), load_names(tx, f"SELECT name {tail}", region), found["parent"].astype(np.int64)
