"""Read and check the columns of servers.parquet: places, types, states and bindings."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats, Indices, Names
from libs.domain.domain_kind import (
    DOMAINS_MAX,
    KIND_RULE,
    KINDS_MAX,
    UNPLACED,
    DomainKind,
    is_kind,
)
from libs.domain.fleet import DELETED, Servers, Topology
from libs.domain.power import FULL_W, IDLE_W
from libs.domain.unavailability import Unavailability
from libs.interchange.files.bounds import COLUMNS_MAX
from libs.interchange.files.tables import Table, indices_of

SIZES = ("vcpu", "memory_gib", IDLE_W, FULL_W)
"""Optional columns with figures of a server. A figure on which all servers of a type agree becomes its attribute."""
DOMAIN_PREFIX = "domain:"
"""Beginning of the optional columns with the domain of each server, one column per further kind of domain."""


def load_topology(table: Table) -> tuple[Topology, Indices, Indices]:
    """Return the topology that the rows of servers.parquet name, the (S,) rack of each row, and its (S, J) domains."""
    datacenters, datacenter = table.codes("datacenter")
    table.at_most(COLUMNS_MAX, "datacenter", datacenters)
    msbs, msb = table.codes("msb")
    racks, rack = table.codes("rack")
    msb_datacenter = of_most_rows(table, "msb", msb, datacenter, len(msbs), "this MSB is in another datacenter")
    rack_msb = of_most_rows(table, "rack", rack, msb, len(racks), "this rack is in another MSB")
    kinds, domain = _domains(table)
    topology = Topology(
        datacenters=datacenters,
        msbs=msbs,
        racks=racks,
        msb_datacenter=msb_datacenter,
        rack_msb=rack_msb,
        kinds=kinds,
    )
    return topology, rack, domain


def of_most_rows(table: Table, field: str, group: Indices, value: Indices, count: int, message: str) -> Indices:
    """Return the value that most rows of each of `count` groups have, (count,), and report the other rows. Of values
    with equally many rows, the value of the earlier row counts.

    group, value   (S,) int   of each row. A row in which either is -1 is reported already, and says nothing about
                              other rows
    """
    found, told = np.zeros(count, np.int32), np.flatnonzero((group >= 0) & (value >= 0))
    values = int(value.max(initial=0)) + 1
    pairs, first, rows = np.unique(
        group[told].astype(np.int64) * values + value[told], return_index=True, return_counts=True
    )
    order = np.lexsort((-first, rows))  # the last of each group wins
    found[pairs[order] // values] = pairs[order] % values
    differs = np.zeros(len(table), bool)
    differs[told] = found[group[told]] != value[told]
    table.bad_rows(differs, field, f"{message} in other rows")
    return found


def _domains(table: Table) -> tuple[tuple[DomainKind, ...], Indices]:
    """Return the further kinds of domain, in order of name, and the (S, J) domain of each server."""
    fields = table.fields_with(DOMAIN_PREFIX)
    if len(fields) > KINDS_MAX:
        table.refuse(f"has {len(fields)} kinds of domain; at most {KINDS_MAX} are allowed", fields[KINDS_MAX])
    kinds, domain = [], np.full((len(table), len(fields)), UNPLACED, np.int32)
    for j, field in enumerate(fields):
        name = field.removeprefix(DOMAIN_PREFIX)
        if not is_kind(name):
            table.refuse(KIND_RULE, field)
        domains, domain[:, j] = table.codes(field, nullable=True)
        table.at_most(DOMAINS_MAX, field, domains)
        kinds.append(DomainKind(name=name, domains=domains))
    return tuple(kinds), domain


def load_unavailability(table: Table) -> Names:
    """Return the Unavailability of each server, (S,): by the column `unavailability`, or else by `available` (false:
    unplanned). Without either column all servers are up.
    """
    if table.has("unavailability") or not table.has("available"):
        return table.choices("unavailability", [state.value for state in Unavailability], Unavailability.NONE.value)
    return np.where(table.booleans("available"), Unavailability.NONE.value, Unavailability.UNPLANNED.value).astype(
        object
    )


def load_sizes(table: Table) -> dict[str, Floats]:
    """Return the (S,) values of each of SIZES; nan if the row or the whole file lacks it."""
    return {
        field: table.numbers(field, nullable=True) if table.has(field) else np.full(len(table), np.nan)
        for field in SIZES
    }


def read_hardware_types(servers: Table, rru: Table) -> Names:
    """Return the hardware types that servers.parquet or rru.parquet names, (T,)."""
    types = np.union1d(servers.codes("hardware_type")[0], rru.codes("hardware_type")[0])
    rru.at_most(COLUMNS_MAX, "hardware_type", types)
    return types


def read_servers(
    table: Table, rack: Indices, domain: Indices, types: Names, reservations: Names, unavailability: Names
) -> tuple[Servers, Names, Names]:
    """Return the servers, and (S,) names of the deleted reservations of their current bindings and of their targets."""
    column = table.strings("server")
    table.unique("server", column.codes, "this server")
    names = column.names
    current, deleted_current = _binding(table, "reservation", reservations)
    target, deleted_target = (
        _binding(table, "target", reservations) if table.has("target") else (current, deleted_current)
    )
    available, down = table.booleans("available"), unavailability == Unavailability.UNPLANNED.value
    drained = available & (unavailability == Unavailability.PLANNED.value)
    table.bad_rows(available & down, "unavailability", "is unplanned, but `available` is true: make them agree")
    servers = Servers(
        id=np.arange(len(names)),
        name=names,
        rack=rack,
        hardware_type=table.references("hardware_type", types, "hardware type"),
        current=current,
        target=target,
        in_use=table.booleans("in_use"),
        available=available,
        leaving=table.booleans("leaving") if table.has("leaving") else np.zeros(len(names), bool),
        drained=drained,
        awaited=table.booleans("awaited") if table.has("awaited") else np.zeros(len(names), bool),
        booked=table.booleans("booked") if table.has("booked") else np.zeros(len(names), bool),
        domain=domain,
        generation=np.ones(len(names), np.int64),
    )
    return servers, deleted_current, deleted_target


def _binding(table: Table, field: str, reservations: Names) -> tuple[Indices, Names]:
    column = table.strings(field, nullable=True)
    codes = indices_of(column, reservations)
    deleted = column.names
    deleted[codes != DELETED] = None
    return codes, deleted
