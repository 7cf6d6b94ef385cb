"""A made-up region of real machines: racks of one hardware type, newer types in newer MSBs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.domain.arrays import Ints, Names
from libs.domain.domain_limits import LIMITS
from libs.domain.fleet import FREE, FleetSnapshot, Servers, Topology
from libs.domain.policy import RegionPolicy
from libs.domain.region_image import RegionImage
from libs.domain.reservation_rows import Reservations
from libs.simulator.hardware import hardware

_SERVERS_PER_RACK = 14
_TYPE_SPREAD = 1.5
"""Standard deviation of a rack's hardware type from the generation of its MSB, in types."""


def made_up_fleet(
    region: str,
    *,
    servers: int = 2000,
    datacenters: int = 5,
    msbs: int = 12,
    seed: int = 0,
    policy: RegionPolicy | None = None,
) -> RegionImage:
    """Return a region without reservations, all of its servers free. The same arguments give the same region.

    MSB 0 is the oldest. MSBs are spread over datacenters, and servers over MSBs, as equally as possible. The last rack
    of an MSB may be short.

    Raises ValueError unless 1 <= datacenters <= msbs <= servers.
    """
    if not 1 <= datacenters <= msbs <= servers:
        raise ValueError(
            "a region needs at least 1 datacenter, as many MSBs as datacenters and as many servers as MSBs"
        )
    random = np.random.default_rng([seed, 1])
    server_msb = np.sort(np.arange(servers) % msbs)
    within = np.arange(servers) - np.searchsorted(server_msb, server_msb)
    first_of_rack = within % _SERVERS_PER_RACK == 0
    rack = np.cumsum(first_of_rack) - 1
    rack_msb = server_msb[first_of_rack]
    types = np.array([figures.name for figures in hardware()], object)
    generation = (rack_msb + 0.5) / msbs * len(types) - 0.5
    drawn = np.rint(random.normal(generation, _TYPE_SPREAD)).astype(np.int64)
    rack_type = np.clip(drawn, 0, len(types) - 1)
    if len(rack_type) >= len(types):  # give each missing type the rack whose generation is nearest
        for t in range(len(types)):
            if t not in rack_type:
                counts = np.bincount(rack_type, minlength=len(types))
                spare = np.flatnonzero(counts[rack_type] > 1)
                rack_type[spare[np.argmin(np.abs(generation[spare] - t))]] = t
    order = np.argsort(types.astype(str))  # snapshots list types by name
    rank = np.argsort(order)
    topology = Topology(
        datacenters=_names("dc", datacenters, 2),
        msbs=_names("msb", msbs, 2),
        racks=_names("rack", len(rack_msb), 4),
        msb_datacenter=np.sort(np.arange(msbs) % datacenters).astype(np.int32),
        rack_msb=rack_msb.astype(np.int32),
    )
    return _free_image(region, topology, types[order], rank[rack_type][rack], rack, policy)


def uniform_fleet(
    region: str, *, hardware_type: str, msb_racks: Sequence[int], servers_per_rack: int, policy: RegionPolicy
) -> RegionImage:
    """Return a region without reservations in one datacenter, of one hardware type, with as many racks in each MSB as
    `msb_racks` says. All of its servers are free.
    """
    racks, msbs = sum(msb_racks), len(msb_racks)
    rack = np.repeat(np.arange(racks), servers_per_rack)
    topology = Topology(
        datacenters=_names("dc", 1, 2),
        msbs=_names("msb", msbs, 2),
        racks=_names("rack", racks, 4),
        msb_datacenter=np.zeros(msbs, np.int32),
        rack_msb=np.repeat(np.arange(msbs), list(msb_racks)).astype(np.int32),
    )
    return _free_image(region, topology, np.array([hardware_type], object), np.zeros(len(rack), int), rack, policy)


def _free_image(
    region: str, topology: Topology, types: Names, server_type: Ints, rack: Ints, policy: RegionPolicy | None
) -> RegionImage:
    """Return a region whose servers are all free. `server_type` and `rack` are (S,) indices."""
    servers = len(rack)
    free = np.full(servers, FREE, np.int32)
    snapshot = FleetSnapshot(
        region=region,
        topology=topology,
        hardware_types=types,
        servers=Servers(
            id=np.arange(servers),
            name=_names("server", servers, 6),
            rack=rack.astype(np.int32),
            hardware_type=server_type.astype(np.int32),
            current=free,
            target=free,
            in_use=np.zeros(servers, bool),
            available=np.ones(servers, bool),
            leaving=np.zeros(servers, bool),
            drained=np.zeros(servers, bool),
            awaited=np.zeros(servers, bool),
            booked=np.zeros(servers, bool),
            domain=np.zeros((servers, 0), np.int32),
            generation=np.ones(servers, np.int64),
        ),
        reservations=_no_reservations(len(types), len(topology.datacenters)),
        policy=policy or RegionPolicy(),
    )
    none = np.array([], object)
    return RegionImage(
        snapshot=snapshot,
        server_host_profile=np.full(servers, "default", object),
        server_deleted_current=np.full(servers, None, object),
        server_deleted_target=np.full(servers, None, object),
        reservation_kind=none,
        reservation_unit=none,
        reservation_owner=none,
        reservation_host_profile=none,
        reservation_class=none,
        reservation_follows=none,
        hardware_type_attributes={},
    )


def _names(noun: str, count: int, digits: int) -> Names:
    return np.array([f"{noun}-{i:0{digits}d}" for i in range(1, count + 1)], object)


def _no_reservations(types: int, datacenters: int) -> Reservations:
    floats, ints = np.array([], float), np.array([], np.int64)
    return Reservations(
        id=ints,
        name=np.array([], object),
        capacity_rru=floats,
        survives_msb_loss=np.array([], bool),
        survives_loss_of=np.zeros((0, 0), bool),
        msb_spread_limit=floats,
        rack_spread_limit=floats,
        rru=np.zeros((0, types)),
        resources=np.zeros((0, 0)),
        affinity_share=np.zeros((0, datacenters)),
        priority=ints,
        move_cost=floats,
        gbit_per_rru=floats,
        msb_share_max=floats,
        domain_limits=np.zeros((0, 2, len(LIMITS))),
        allowed=np.ones((0, datacenters), bool),
        generation=ints,
    )
