"""Turn columns of servers into a checked Inventory. Turn an Inventory into servers.parquet, or into a region without
reservations.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from libs.domain.domain_limits import LIMITS
from libs.domain.fleet import FREE, FleetSnapshot, Servers
from libs.domain.inventory import Inventory
from libs.domain.policy import RegionPolicy
from libs.domain.region_image import RegionImage
from libs.domain.reservation_rows import Reservations
from libs.domain.unavailability import Unavailability
from libs.interchange.files.bounds import COLUMNS_MAX
from libs.interchange.files.errors import InterchangeError, Problem, Problems
from libs.interchange.files.tables import Source, Table
from libs.interchange.inventory.field_mapping import FIELDS, OPTIONAL_FIELDS
from libs.interchange.region.server_columns import DOMAIN_PREFIX, load_sizes, load_topology, load_unavailability
from libs.interchange.region.write import image_of

FILE = "servers.parquet"


def load_inventory(source: Source) -> Inventory:
    """Return the servers of a region folder, or of its servers.parquet alone. Bindings are ignored.

    The state of a server comes from `unavailability`, or else from `available` (false: unplanned). Without either
    column every server is up. Raises InterchangeError.
    """
    problems = Problems()
    fields = {*FIELDS, *OPTIONAL_FIELDS, "available"}
    return inventory_of(Table(source, FILE, problems, fields=fields, prefix=DOMAIN_PREFIX), problems)


def inventory_of_columns(file: str, columns: Mapping[str, Sequence[object]]) -> Inventory:
    """Return the inventory of columns that were read from another kind of file. Raises InterchangeError."""
    types = {name: pa.string() for name in columns} | {"vcpu": pa.float64(), "memory_gib": pa.float64()}
    table = pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
    problems = Problems()
    return inventory_of(Table.of(file, table, problems), problems)


def inventory_of(table: Table, problems: Problems) -> Inventory:
    """Check and index the columns. Raises InterchangeError with up to 20 problems."""
    if len(table) == 0:
        raise InterchangeError([Problem(table.file, None, None, "holds no servers")])
    column = table.strings("server")
    table.unique("server", column.codes, "this server")
    topology, rack, domain = load_topology(table)
    types, hardware_type = table.codes("hardware_type")
    table.at_most(COLUMNS_MAX, "hardware_type", types)
    unsafe = table.strings("hardware_type").matches(lambda name: "/" in name or name in (".", ".."))
    table.bad_rows(unsafe, "hardware_type", "becomes part of an address, so it cannot contain / or be . or ..")
    unavailability, figures = load_unavailability(table), load_sizes(table)
    problems.raise_any()
    return Inventory(
        topology=topology,
        hardware_types=types,
        server=column.names,
        rack=rack,
        hardware_type=hardware_type,
        domain=domain,
        unavailability=unavailability,
        figures=figures,
    )


def dump_inventory(inventory: Inventory) -> bytes:
    """Return servers.parquet with the columns that an import reads."""
    topology, msb = inventory.topology, inventory.msb
    strings = {
        "server": inventory.server,
        "datacenter": topology.datacenters[topology.msb_datacenter[msb]],
        "msb": topology.msbs[msb],
        "rack": topology.racks[inventory.rack],
        "hardware_type": inventory.hardware_types[inventory.hardware_type],
        "unavailability": inventory.unavailability,
        **{
            f"{DOMAIN_PREFIX}{kind.name}": kind.names_of(inventory.domain[:, j])
            for j, kind in enumerate(topology.kinds)
        },
    }
    columns = {name: pa.array(values, pa.string()) for name, values in strings.items()}
    for name, values in inventory.figures.items():
        columns[name] = pa.array(values, mask=np.isnan(values))
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, compression="zstd")
    return stream.getvalue()


def region_of(inventory: Inventory, name: str) -> RegionImage:
    """Return a new region of these servers: all free, no reservations, the default policy."""
    n, types, datacenters = len(inventory), len(inventory.hardware_types), len(inventory.topology.datacenters)
    free = np.full(n, FREE, np.int32)
    servers = Servers(
        id=np.arange(n),
        name=inventory.server,
        rack=inventory.rack,
        hardware_type=inventory.hardware_type,
        current=free,
        target=free,
        in_use=np.zeros(n, bool),
        available=inventory.unavailability != Unavailability.UNPLANNED.value,
        leaving=np.zeros(n, bool),
        drained=inventory.unavailability == Unavailability.PLANNED.value,
        awaited=np.zeros(n, bool),
        booked=np.zeros(n, bool),
        domain=inventory.domain,
        generation=np.ones(n, np.int64),
    )
    none = np.zeros(0)
    reservations = Reservations(
        id=none.astype(np.int64),
        name=none.astype(object),
        capacity_rru=none,
        survives_msb_loss=none.astype(bool),
        survives_loss_of=np.zeros((0, len(inventory.topology.kinds)), bool),
        msb_spread_limit=none,
        rack_spread_limit=none,
        rru=np.zeros((0, types)),
        resources=np.zeros((0, 0)),
        affinity_share=np.zeros((0, datacenters)),
        priority=none.astype(np.int64),
        move_cost=none,
        gbit_per_rru=none,
        msb_share_max=none,
        domain_limits=np.zeros((0, 2 + len(inventory.topology.kinds), len(LIMITS))),
        allowed=np.ones((0, datacenters), bool),
        generation=none.astype(np.int64),
    )
    image = image_of(
        FleetSnapshot(
            region=name,
            topology=inventory.topology,
            hardware_types=inventory.hardware_types,
            servers=servers,
            reservations=reservations,
            policy=RegionPolicy(),
        )
    )
    return replace(
        image,
        hardware_type_attributes=inventory.attributes(),
    )
