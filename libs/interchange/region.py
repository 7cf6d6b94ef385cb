"""The region folder of the interchange format -> FleetSnapshot, checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from libs.domain.fleet import DELETED, FleetSnapshot, Floats, Indices, Names, Reservations, Servers, Topology
from libs.interchange.errors import Problems
from libs.interchange.policy import load_policy
from libs.interchange.tables import Source, Table, names_of

FILES = ("servers.parquet", "reservations.parquet", "rru.parquet", "affinity.parquet", "policy.json")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A region as its files hold it: the snapshot, and what the snapshot has no place for.

    deleted_current, deleted_target  (S,) str or None  the name of the deleted reservation where the binding is DELETED
    host_profile  (S,) str or None   optional column of servers
    kind, owner   (R,) str or None   optional columns of reservations
    Optional columns that no file has are None.
    """

    snapshot: FleetSnapshot
    deleted_current: Names
    deleted_target: Names
    host_profile: Names | None = None
    kind: Names | None = None
    owner: Names | None = None


def load_region(source: Source, *, name: str = "region") -> Region:
    """Read and check a region.

    source: a folder, or the content of each file by name; name: what to call a region that comes as content.

    A reservation that servers name and reservations.parquet lacks was deleted; a hardware type that only rru.parquet
    names is one that the region has none of. Without a `target` column, targets are the current bindings.
    Raises: InterchangeError, with up to 20 problems.
    """
    problems = Problems()
    servers_table = Table(source, "servers.parquet", problems)
    reservations_table = Table(source, "reservations.parquet", problems)
    rru_table = Table(source, "rru.parquet", problems)
    affinity_table = Table(source, "affinity.parquet", problems)
    policy = load_policy(source, problems)

    topology, rack = _topology(servers_table)
    types = _hardware_types(servers_table, rru_table)
    reservation_names = names_of(reservations_table.strings("reservation"))
    reservations_table.unique("reservation", _keys(reservation_names), "this reservation")
    servers, deleted_current, deleted_target = _servers(servers_table, rack, types, reservation_names)
    reservations = Reservations(
        id=np.arange(len(reservation_names)),
        name=reservation_names,
        capacity_rru=reservations_table.numbers("capacity_rru"),
        survives_msb_loss=reservations_table.booleans("survives_msb_loss"),
        msb_spread_limit=_limit(reservations_table, "msb_spread_limit"),
        rack_spread_limit=_limit(reservations_table, "rack_spread_limit"),
        rru=_pairs(rru_table, "hardware_type", "hardware type", "rru", reservation_names, types, 0.0),
        affinity_share=_pairs(
            affinity_table, "datacenter", "datacenter", "share", reservation_names, topology.datacenters, np.nan
        ),
        generation=np.ones(len(reservation_names), np.int64),
    )
    optional = [
        _optional(table, field)
        for table, field in (
            (servers_table, "host_profile"),
            (reservations_table, "kind"),
            (reservations_table, "owner"),
        )
    ]
    problems.raise_any()
    label = name if isinstance(source, Mapping) else Path(os.fspath(source)).resolve().name
    snapshot = FleetSnapshot(
        region=label, topology=topology, hardware_types=types, servers=servers, reservations=reservations, policy=policy
    )
    return Region(
        snapshot=snapshot,
        deleted_current=deleted_current,
        deleted_target=deleted_target,
        host_profile=optional[0],
        kind=optional[1],
        owner=optional[2],
    )


def _topology(table: Table) -> tuple[Topology, Indices]:
    datacenters, datacenter = table.codes("datacenter")
    msbs, msb = table.codes("msb")
    racks, rack = table.codes("rack")
    msb_datacenter, rack_msb = np.zeros(len(msbs), np.int32), np.zeros(len(racks), np.int32)
    msb_datacenter[msb[::-1]] = datacenter[::-1]  # the first row of each wins
    rack_msb[rack[::-1]] = msb[::-1]
    table.bad_rows(msb_datacenter[msb] != datacenter, "msb", "this MSB is in another datacenter in an earlier row")
    table.bad_rows(rack_msb[rack] != msb, "rack", "this rack is in another MSB in an earlier row")
    return Topology(
        datacenters=datacenters, msbs=msbs, racks=racks, msb_datacenter=msb_datacenter, rack_msb=rack_msb
    ), rack


def _hardware_types(servers: Table, rru: Table) -> Names:
    return np.union1d(servers.codes("hardware_type")[0], rru.codes("hardware_type")[0])


def _servers(table: Table, rack: Indices, types: Names, reservations: Names) -> tuple[Servers, Names, Names]:
    names = names_of(table.strings("server"))
    table.unique("server", _keys(names), "this server")
    current, deleted_current = _binding(table, "reservation", reservations)
    target, deleted_target = (
        _binding(table, "target", reservations) if table.has("target") else (current, deleted_current)
    )
    servers = Servers(
        id=np.arange(len(names)),
        name=names,
        rack=rack,
        hardware_type=table.references("hardware_type", types, "hardware type"),
        current=current,
        target=target,
        in_use=table.booleans("in_use"),
        available=table.booleans("available"),
        generation=np.ones(len(names), np.int64),
    )
    return servers, deleted_current, deleted_target


def _binding(table: Table, field: str, reservations: Names) -> tuple[Indices, Names]:
    codes = table.references(field, reservations, "reservation", nullable=True, known=False)
    named = names_of(table.strings(field, nullable=True))
    named[codes != DELETED] = None
    return codes, named


def _limit(table: Table, field: str) -> Floats:
    values = table.numbers(field, nullable=True)
    return np.where(np.isnan(values), np.inf, values)


def _pairs(
    table: Table, field: str, what: str, value: str, reservations: Names, columns: Names, absent: float
) -> Floats:
    """A table of (reservation, column, value) as a dense (R, columns) array."""
    r, c, v = (
        table.references("reservation", reservations, "reservation"),
        table.references(field, columns, what),
        table.numbers(value),
    )
    table.unique("reservation", r.astype(np.int64) * (len(columns) + 2) + c, f"this pair of reservation and {what}")
    dense = np.full((len(reservations), len(columns)), absent)
    known = (r >= 0) & (c >= 0)
    dense[r[known], c[known]] = v[known]
    return dense


def _optional(table: Table, field: str) -> Names | None:
    return names_of(table.strings(field, nullable=True)) if table.has(field) else None


def _keys(names: Names) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    codes = pa.array(names, pa.string()).dictionary_encode().indices.fill_null(-1)
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)
