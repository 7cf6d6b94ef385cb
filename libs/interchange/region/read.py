"""Read and check the region folder of the interchange format as a RegionImage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from libs.domain.cost_units import listed_units
from libs.domain.fleet import FleetSnapshot
from libs.domain.followed_shares import with_followed_shares
from libs.domain.inventory import agreed_attributes
from libs.domain.policy import RegionPolicy
from libs.domain.power import listed_watts
from libs.domain.region_image import RegionImage
from libs.domain.reservation import (
    AFFINITY_SHARE_MAX,
    CAPACITY_RRU_MAX,
    SERVER_RRU_MAX,
    CapacityUnit,
    ReservationKind,
)
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import listed_resources, resources_table
from libs.interchange.files.errors import Problems
from libs.interchange.files.policy import AS_THE_FORMAT, load_policy
from libs.interchange.files.tables import Source, Table, has_file
from libs.interchange.region.catalogue import FILES as CATALOGUE_FILES
from libs.interchange.region.catalogue import load_catalogue
from libs.interchange.region.domain_limits import read_domain_limits
from libs.interchange.region.guests import with_guests_of_files
from libs.interchange.region.power_limits import FILE as POWER
from libs.interchange.region.power_limits import load_limits
from libs.interchange.region.reservation_columns import (
    read_allowed,
    read_classes,
    read_follows,
    read_limit,
    read_move_costs,
    read_pairs,
    read_priorities,
    read_share_max,
    read_survived_kinds,
)
from libs.interchange.region.resources import PREFIX as RESOURCE_PREFIX
from libs.interchange.region.resources import read_amounts, read_asked
from libs.interchange.region.server_columns import (
    DOMAIN_PREFIX,
    SIZES,
    load_sizes,
    load_topology,
    load_unavailability,
    read_hardware_types,
    read_servers,
)
from libs.interchange.region.uplinks import UPLINK, read_gbit, read_uplinks

FILES = ("servers.parquet", "reservations.parquet", "rru.parquet", "affinity.parquet", "policy.json")
OPTIONAL_FILES = (*CATALOGUE_FILES, POWER)
HOST_PROFILE, OWNER = "default", "unknown"
"""Values for servers and reservations if the files have no such column."""
_PREFIXES = (DOMAIN_PREFIX, RESOURCE_PREFIX)

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
    - Without `churned`, a solve of the region has no churn budget. Only replay bundles have this column.
    - Without `promised_rru`, all reservations were granted their capacity.
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
    types = read_hardware_types(servers_table, rru_table)
    column = reservations_table.strings("reservation")
    reservations_table.unique("reservation", column.codes, "this reservation")
    reservation_names = column.names
    unavailability = load_unavailability(servers_table)
    servers, deleted_current, deleted_target = read_servers(
        servers_table, rack, domain, types, reservation_names, unavailability
    )
    attributes = agreed_attributes(types, servers.hardware_type, load_sizes(servers_table))
    amounts = agreed_attributes(types, servers.hardware_type, read_amounts(servers_table))
    attributes = {name: attributes.get(name, {}) | amounts.get(name, {}) for name in sorted({*attributes, *amounts})}
    columns = [field.removeprefix(RESOURCE_PREFIX) for field in servers_table.fields_with(RESOURCE_PREFIX)]
    asked = read_asked(reservations_table, {*columns, *(size for size in SIZES if servers_table.has(size))})
    resources = listed_resources(types, attributes, asked)
    reservations = Reservations(
        id=np.arange(1, len(reservation_names) + 1),  # 0 stands for no reservation where bindings are ids
        name=reservation_names,
        capacity_rru=reservations_table.numbers("capacity_rru", most=CAPACITY_RRU_MAX),
        survives_msb_loss=reservations_table.booleans("survives_msb_loss"),
        survives_loss_of=read_survived_kinds(reservations_table, topology.kinds),
        msb_spread_limit=read_limit(reservations_table, "msb_spread_limit"),
        rack_spread_limit=read_limit(reservations_table, "rack_spread_limit"),
        rru=read_pairs(
            rru_table, "hardware_type", "hardware type", "rru", reservation_names, types, 0.0, SERVER_RRU_MAX
        ),
        resources=resources_table(asked, resources),
        affinity_share=read_pairs(
            affinity_table,
            "datacenter",
            "datacenter",
            "share",
            reservation_names,
            topology.datacenters,
            np.nan,
            AFFINITY_SHARE_MAX,
        ),
        priority=read_priorities(reservations_table),
        move_cost=read_move_costs(reservations_table),
        gbit_per_rru=read_gbit(reservations_table),
        msb_share_max=read_share_max(reservations_table, "msb_share_max"),
        domain_limits=read_domain_limits(reservations_table, topology.kinds),
        allowed=read_allowed(reservations_table, topology.datacenters),
        generation=np.ones(len(reservation_names), np.int64),
    )
    limits = load_limits(source, problems, topology)
    uplinks = read_uplinks(servers_table, rack, len(topology.racks))
    kinds, units = ([value.value for value in noun] for noun in (ReservationKind, CapacityUnit))
    reservation_kind = reservations_table.choices("kind", kinds, ReservationKind.GUARANTEED.value)
    described: dict[str, Any] = {
        "server_host_profile": servers_table.optional_strings("host_profile", HOST_PROFILE),
        "hardware_type_attributes": attributes,
        "reservation_kind": reservation_kind,
        "reservation_unit": reservations_table.choices("unit", units, CapacityUnit.RRU.value),
        "reservation_owner": reservations_table.optional_strings("owner", OWNER),
        "reservation_host_profile": reservations_table.optional_strings("host_profile", HOST_PROFILE),
        "reservation_class": read_classes(reservations_table, catalogue),
        "reservation_follows": read_follows(reservations_table, reservation_names, reservation_kind),
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
