"""Read and check the region folder of the interchange format as a RegionImage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.cost_units import listed_units
from libs.domain.domain_kind import (
    DOMAINS_MAX,
    KIND_CHARACTERS_MAX,
    KIND_RULE,
    KINDS_MAX,
    UNPLACED,
    DomainKind,
    is_kind,
)
from libs.domain.fleet import DELETED, FleetSnapshot, RegionImage, Reservations, Servers, Topology
from libs.domain.followed_shares import with_followed_shares
from libs.domain.inventory import agreed_attributes
from libs.domain.policy import RegionPolicy
from libs.domain.power import FULL_W, IDLE_W, listed_watts
from libs.domain.reservation import (
    MOVE_COST_MAX,
    MOVE_COST_MIN,
    PRIORITY_MAX,
    PRIORITY_MIDDLE,
    CapacityUnit,
    ReservationKind,
)
from libs.domain.resources import listed_resources, resources_table
from libs.domain.rru_catalogue import RegionCatalogue
from libs.domain.unavailability import Unavailability
from libs.interchange.files.bounds import COLUMNS_MAX, NAME_CHARACTERS_MAX, parse_json
from libs.interchange.files.errors import Problems
from libs.interchange.files.policy import AS_THE_FORMAT, load_policy
from libs.interchange.files.tables import Source, Table, has_file, indices_of
from libs.interchange.region.catalogue import CLASSES, load_catalogue
from libs.interchange.region.catalogue import FILES as CATALOGUE_FILES
from libs.interchange.region.domain_limits import read_domain_limits
from libs.interchange.region.guests import with_guests_of_files
from libs.interchange.region.power_limits import FILE as POWER
from libs.interchange.region.power_limits import load_limits
from libs.interchange.region.resources import PREFIX as RESOURCE_PREFIX
from libs.interchange.region.resources import read_amounts, read_asked
from libs.interchange.region.uplinks import UPLINK, read_gbit, read_uplinks

FILES = ("servers.parquet", "reservations.parquet", "rru.parquet", "affinity.parquet", "policy.json")
OPTIONAL_FILES = (*CATALOGUE_FILES, POWER)
HOST_PROFILE, OWNER = "default", "unknown"
"""Values for servers and reservations if the files have no such column."""
SIZES = ("vcpu", "memory_gib", IDLE_W, FULL_W)
"""Optional columns with figures of a server. A figure on which all servers of a type agree becomes its attribute."""
DOMAIN_PREFIX = "domain:"
"""Beginning of the optional columns with the domain of each server, one column per further kind of domain."""
_PREFIXES = (DOMAIN_PREFIX, RESOURCE_PREFIX)
_KINDS_CHARACTERS_MAX = KINDS_MAX * (KIND_CHARACTERS_MAX + len('"", '))
_DATACENTERS_CHARACTERS_MAX = COLUMNS_MAX * (NAME_CHARACTERS_MAX + len('"", '))
"""Largest length of a JSON array of datacenters."""

_SERVERS = {"server", "datacenter", "msb", "rack", "hardware_type", "reservation", "in_use", "available"}
_RESERVATIONS = {"reservation", "capacity_rru", "survives_msb_loss", "msb_spread_limit", "rack_spread_limit"}
_PAIRS = {
    "rru.parquet": {"reservation", "hardware_type", "rru"},
    "affinity.parquet": {"reservation", "datacenter", "share"},
}


def load_region(source: Source, *, name: str = "region", absent: RegionPolicy = AS_THE_FORMAT) -> RegionImage:
    """Read and check a region.

    source   a folder, or the content of each file by name
    name     name of the region, if the source is not a folder
    absent   the values of the costs that policy.json does not name

    A reservation that servers name and reservations.parquet lacks was deleted. A hardware type that only rru.parquet
    names has no servers in the region. The files may have more columns than the format requires. Without these columns
    the values are:

    - A server's `target` is its current binding, and it is neither `leaving` nor `awaited`.
    - A reservation's `kind` is guaranteed, its `unit` is RRU, its `owner` is OWNER, its `priority` the middle one,
      and its `move_cost` 1. It has no hard limits: `msb_share_max`, `datacenters` and `domain_limits`. It need not
      survive the loss of further domains: `survives_loss_of`. Servers have further domains by columns such as
      `domain:network_block`.
    - The `host_profile` of both is HOST_PROFILE.
    - It follows no `workload_class`. Without the two files of the catalogue there are no classes and no cost units.
    - Types have resources by columns such as `resource:cores` of servers, and reservations ask for `resources`.
    - Reservations are guests by the columns `guest_of` and `guest_share`; else there are no guests.
    - Types have watts by the columns `idle_w` and `full_w` of servers, and domains have limits by power_limits.parquet.
    - Racks have limits by the column `uplink_gbit` of servers, and reservations send `gbit_per_rru`, which is 0.
    - Without `churned`, a solve of the region has no churn budget. Without `promised_rru`, all reservations were
      granted their capacity. Only replay bundles have these columns.
    - `unavailability` follows from `available`. With the column, a server that is up may be in planned maintenance.

    Raises InterchangeError with up to 20 problems.
    """
    problems = Problems()
    for file in FILES:
        if not has_file(source, file):
            others = "an empty table says nothing" if file.endswith(".parquet") else "{} leaves every cost as it is"
            problems.add(file, f"is missing; all of {', '.join(FILES)} are needed: {others}")
    problems.raise_any()
    more = {"target", "host_profile", "leaving", "awaited", "booked", "unavailability", UPLINK, *SIZES}
    servers_table = Table(source, "servers.parquet", problems, fields=_SERVERS | more, prefix=_PREFIXES)
    reservations_table = Table(
        source,
        "reservations.parquet",
        problems,
        fields=_RESERVATIONS
        | {"gbit_per_rru"}
        | {"priority", "move_cost", "msb_share_max", "datacenters", "churned", "kind", "unit", "owner", "host_profile"}
        | {"workload_class", "promised_rru", "survives_loss_of", "domain_limits", "resources", "affinity_follows"}
        | {"guest_of", "guest_share"},
    )
    rru_table, affinity_table = (Table(source, file, problems, fields=fields) for file, fields in _PAIRS.items())
    policy, catalogue = load_policy(source, problems, absent), load_catalogue(source, problems)

    topology, rack, domain = load_topology(servers_table)
    types = _hardware_types(servers_table, rru_table)
    column = reservations_table.strings("reservation")
    reservations_table.unique("reservation", column.codes, "this reservation")
    reservation_names = column.names
    unavailability = load_unavailability(servers_table)
    servers, deleted_current, deleted_target = _servers(
        servers_table, rack, domain, types, reservation_names, unavailability
    )
    attributes = agreed_attributes(types, servers.hardware_type, load_sizes(servers_table))
    amounts = agreed_attributes(types, servers.hardware_type, read_amounts(servers_table))
    attributes = {name: attributes.get(name, {}) | amounts.get(name, {}) for name in sorted({*attributes, *amounts})}
    columns = [field.removeprefix(RESOURCE_PREFIX) for field in servers_table.fields_with(RESOURCE_PREFIX)]
    asked = read_asked(reservations_table, {*columns, *(size for size in SIZES if servers_table.has(size))})
    resources = listed_resources(types, attributes, asked)
    reservations = Reservations(
        id=np.arange(len(reservation_names)),
        name=reservation_names,
        capacity_rru=reservations_table.numbers("capacity_rru"),
        survives_msb_loss=reservations_table.booleans("survives_msb_loss"),
        survives_loss_of=_survives_loss_of(reservations_table, topology.kinds),
        msb_spread_limit=_limit(reservations_table, "msb_spread_limit"),
        rack_spread_limit=_limit(reservations_table, "rack_spread_limit"),
        rru=_pairs(rru_table, "hardware_type", "hardware type", "rru", reservation_names, types, 0.0),
        resources=resources_table(asked, resources),
        affinity_share=_pairs(
            affinity_table, "datacenter", "datacenter", "share", reservation_names, topology.datacenters, np.nan
        ),
        priority=_priorities(reservations_table),
        move_cost=_move_costs(reservations_table),
        gbit_per_rru=read_gbit(reservations_table),
        msb_share_max=_limit(reservations_table, "msb_share_max")
        if reservations_table.has("msb_share_max")
        else np.full(len(reservation_names), np.inf),
        domain_limits=read_domain_limits(reservations_table, topology.kinds),
        allowed=_allowed(reservations_table, topology.datacenters),
        generation=np.ones(len(reservation_names), np.int64),
    )
    limits = load_limits(source, problems, topology)
    uplinks = read_uplinks(servers_table, rack, len(topology.racks))
    kinds, units = ([value.value for value in noun] for noun in (ReservationKind, CapacityUnit))
    described: dict[str, Any] = {
        "server_host_profile": servers_table.optional_strings("host_profile", HOST_PROFILE),
        "hardware_type_attributes": attributes,
        "reservation_kind": reservations_table.choices("kind", kinds, ReservationKind.GUARANTEED.value),
        "reservation_unit": reservations_table.choices("unit", units, CapacityUnit.RRU.value),
        "reservation_owner": reservations_table.optional_strings("owner", OWNER),
        "reservation_host_profile": reservations_table.optional_strings("host_profile", HOST_PROFILE),
        "reservation_class": _classes(reservations_table, catalogue),
        "reservation_follows": _follows(reservations_table, reservation_names),
        "catalogue": catalogue,
    }
    churned = reservations_table.numbers("churned").astype(np.int64) if reservations_table.has("churned") else None
    promised = reservations_table.numbers("promised_rru") if reservations_table.has("promised_rru") else None
    problems.raise_any()
    label = name if isinstance(source, Mapping) else Path(os.fspath(source)).resolve().name
    snapshot = FleetSnapshot(
        region=label,
        topology=topology,
        hardware_types=types,
        servers=servers,
        reservations=reservations,
        policy=policy,
        churned=churned,
        promised_rru=promised,
        cost_units=None if catalogue is None else listed_units(types, catalogue.units()),
        power=listed_watts(types, attributes, limits),
        resources=resources,
        uplinks=uplinks,
    )
    image = RegionImage(
        snapshot=snapshot, server_deleted_current=deleted_current, server_deleted_target=deleted_target, **described
    )
    image = with_guests_of_files(image, servers_table, reservations_table)
    problems.raise_any()
    return replace(image, snapshot=with_followed_shares(image.snapshot, image.reservation_follows))


def _classes(table: Table, catalogue: RegionCatalogue | None) -> Names:
    """Return the class of workload that each reservation follows, (R,) str or None."""
    if not table.has("workload_class"):
        return np.full(len(table), None, object)
    column = table.strings("workload_class", nullable=True)
    known = {} if catalogue is None else catalogue.present().classes
    unknown = column.matches(lambda name: name not in known)
    table.bad_rows(unknown, "workload_class", f"{{}} is not a class of {CLASSES}", column.names)
    return column.names


def _follows(table: Table, names: Names) -> Names:
    """Return the reservation whose holdings the affinity of each reservation follows, (R,) str or None.

    names  (R,) str   the reservations
    """
    if not table.has("affinity_follows"):
        return np.full(len(table), None, object)
    column = table.strings("affinity_follows", nullable=True)
    known, itself = {*names}, column.names == names
    followers = {name for name, other in zip(names, column.names, strict=True) if other is not None and other != name}
    wrong = (
        (column.matches(lambda name: name not in known), "{} is not a reservation"),
        (itself, "{} is the reservation itself"),
        (column.matches(lambda name: name in followers), "{} follows another reservation itself"),
    )
    for rows, message in wrong:
        table.bad_rows(rows, "affinity_follows", message, column.names)
    return column.names


def _priorities(table: Table) -> Ints:
    """Return the class of each reservation, (R,)."""
    if not table.has("priority"):
        return np.full(len(table), PRIORITY_MIDDLE, np.int64)
    given = table.numbers("priority")
    known = np.isin(given, np.arange(PRIORITY_MAX + 1))
    table.bad_rows(np.isfinite(given) & ~known, "priority", f"is not a whole number from 0 to {PRIORITY_MAX}")
    return np.where(known, given, PRIORITY_MIDDLE).astype(np.int64)


def _move_costs(table: Table) -> Floats:
    """Return the factor of each reservation on the costs of moves, (R,)."""
    if not table.has("move_cost"):
        return np.ones(len(table))
    given = table.numbers("move_cost")
    outside = (given < MOVE_COST_MIN) | (given > MOVE_COST_MAX)
    table.bad_rows(np.isfinite(given) & outside, "move_cost", f"is not from {MOVE_COST_MIN:g} to {MOVE_COST_MAX:g}")
    return given


def _allowed(table: Table, datacenters: Names) -> Bools:
    """Return which datacenters may hold servers of each reservation, (R, D).

    The column `datacenters` has a JSON array of names as text; null: all.
    """
    if not table.has("datacenters"):
        return np.ones((len(table), len(datacenters)), bool)
    column = table.strings("datacenters", nullable=True, longest=_DATACENTERS_CHARACTERS_MAX)
    place = {name: d for d, name in enumerate(datacenters)}
    used, value = np.unique(column.codes, return_inverse=True)  # a dictionary may hold texts that no row uses
    by_value = np.ones((len(used), len(datacenters)), bool)
    for row, given in zip(by_value, column.values[used], strict=True):
        if given is not None:
            row[:] = False
            row[[place[name] for name in _names_in(given) if name in place]] = True
    allowed = by_value[value]
    known = np.asarray(allowed.any(axis=1), bool)
    table.bad_rows(~known, "datacenters", "is not a JSON array with the name of a datacenter of this region")
    return allowed


def _names_in(given: str) -> list[str]:
    """Return the names in a JSON array of names; [] for any other text."""
    try:
        found = parse_json(given)
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []


def _survives_loss_of(table: Table, kinds: tuple[DomainKind, ...]) -> Bools:
    """Return which kinds' loss each reservation survives, (R, J).

    The column `survives_loss_of` has a JSON array of kinds as text; null: none.
    """
    if not table.has("survives_loss_of"):
        return np.zeros((len(table), len(kinds)), bool)
    column = table.strings("survives_loss_of", nullable=True, longest=_KINDS_CHARACTERS_MAX)
    number = {kind.name: j for j, kind in enumerate(kinds)}
    used, value = np.unique(column.codes, return_inverse=True)  # a dictionary may hold texts that no row uses
    by_value, known = np.zeros((len(used), len(kinds)), bool), np.ones(len(used), bool)
    for row, given in enumerate(column.values[used]):
        named = [] if given is None else _names_in(given)
        known[row] = given is None or (bool(named) and all(name in number for name in named))
        by_value[row, [number[name] for name in named if name in number]] = True
    message = f"is not a JSON array of kinds that servers.parquet has a column for: {DOMAIN_PREFIX}KIND"
    table.bad_rows(~known[value], "survives_loss_of", message)
    return by_value[value]


def load_topology(table: Table) -> tuple[Topology, Indices, Indices]:
    """Return the topology that the rows of servers.parquet name, the (S,) rack of each row, and its (S, J) domains."""
    datacenters, datacenter = table.codes("datacenter")
    table.at_most(COLUMNS_MAX, "datacenter", datacenters)
    msbs, msb = table.codes("msb")
    racks, rack = table.codes("rack")
    msb_datacenter, rack_msb = np.zeros(len(msbs), np.int32), np.zeros(len(racks), np.int32)
    msb_datacenter[msb[::-1]] = datacenter[::-1]  # the first row of each wins
    rack_msb[rack[::-1]] = msb[::-1]
    table.bad_rows(msb_datacenter[msb] != datacenter, "msb", "this MSB is in another datacenter in an earlier row")
    table.bad_rows(rack_msb[rack] != msb, "rack", "this rack is in another MSB in an earlier row")
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


def _hardware_types(servers: Table, rru: Table) -> Names:
    types = np.union1d(servers.codes("hardware_type")[0], rru.codes("hardware_type")[0])
    rru.at_most(COLUMNS_MAX, "hardware_type", types)
    return types


def _servers(
    table: Table, rack: Indices, domain: Indices, types: Names, reservations: Names, unavailability: Names
) -> tuple[Servers, Names, Names]:
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


def _limit(table: Table, field: str) -> Floats:
    values = table.numbers(field, nullable=True)
    return np.where(np.isnan(values), np.inf, values)


def _pairs(
    table: Table, field: str, what: str, value: str, reservations: Names, columns: Names, absent: float
) -> Floats:
    """Return a table of (reservation, column, value) as a dense (R, columns) array."""
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
