"""Build small regions with a few keyword arguments.

    region_image(msbs=2, reservations={"web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})},
                 current={"server-00": "web"}, down={"server-03"})

Racks `rack-00`, `rack-01`, ... are numbered MSB by MSB, MSBs datacenter by datacenter, and servers `server-00`, ...
rack by rack. Each rack has one hardware type; the types take turns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from libs.domain.arrays import Indices, Names
from libs.domain.cost_units import listed_units
from libs.domain.domain_kind import UNPLACED, DomainKind
from libs.domain.domain_limits import LIMITS, limits_table
from libs.domain.fleet import DELETED, FREE, FleetSnapshot, Servers, Topology
from libs.domain.policy import RegionPolicy
from libs.domain.power import PowerLimit, listed_watts
from libs.domain.region_image import RegionImage
from libs.domain.reservation import ReservationSpec
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import Resources, listed_resources, resources_table
from libs.domain.rru_catalogue import RegionCatalogue
from libs.domain.stacked_region import guests_of_rows, stacked

NONE: Mapping[str, str] = {}
NO_DOMAINS: Mapping[str, Mapping[str, str]] = {}


def fleet_snapshot(region: str = "west", **keywords: object) -> FleetSnapshot:
    """Return the snapshot of region_image with the same keywords."""
    return region_image(region, **keywords).snapshot  # type: ignore[arg-type]


def region_image(
    region: str = "west",
    *,
    datacenters: int = 1,
    msbs: int = 2,
    racks_per_msb: int = 1,
    servers_per_rack: int = 4,
    hardware_types: Collection[str] = ("hw-a",),
    reservations: Mapping[str, ReservationSpec] | None = None,
    current: Mapping[str, str] = NONE,
    target: Mapping[str, str] | None = None,
    in_use: Collection[str] = (),
    down: Collection[str] = (),
    leaving: Collection[str] = (),
    maintained: Collection[str] = (),
    booked: Collection[str] = (),
    owner: Mapping[str, str] = NONE,
    kind: Mapping[str, str] = NONE,
    host_profile: Mapping[str, str] = NONE,
    policy: RegionPolicy | None = None,
    attributes: Mapping[str, Mapping[str, float]] | None = None,
    catalogue: RegionCatalogue | None = None,
    domains: Mapping[str, Mapping[str, str]] = NO_DOMAINS,
    power_limits: Collection[PowerLimit] = (),
) -> RegionImage:
    """Return a region of datacenters * (msbs // datacenters) MSBs.

    current, target   server -> reservation; one missing in `reservations` counts as deleted. target None: as current
    in_use, down      servers that run containers; that are down for an unplanned reason
    leaving           servers announced for retirement; maintained: in planned maintenance; booked: kept for others
    attributes        hardware type -> vcpu, memory_gib, idle_w and full_w
    owner, kind       reservation -> owner, kind; default `team` and `guaranteed`
    host_profile      server -> profile; default `default`
    domains           kind -> server -> its domain of this kind; other servers have none
    power_limits      limits on the power of domains
    """
    specs = reservations or {}
    racks, types = msbs * racks_per_msb, names("", hardware_types)
    rack = np.repeat(np.arange(racks, dtype=np.int32), servers_per_rack)
    servers = names("server", len(rack))
    rack_type = np.arange(racks, dtype=np.int32) % len(types)
    topology = Topology(
        datacenters=names("dc", datacenters),
        msbs=names("msb", msbs),
        racks=names("rack", racks),
        msb_datacenter=(np.arange(msbs) * datacenters // msbs).astype(np.int32),
        rack_msb=(np.arange(racks) // racks_per_msb).astype(np.int32),
        kinds=tuple(
            DomainKind(name=kind, domains=names("", sorted(set(of.values())))) for kind, of in sorted(domains.items())
        ),
    )
    bindings = (current, current if target is None else target)
    resources = listed_resources(types, attributes or {}, [spec.resources for spec in specs.values()])
    rows = [_binding(servers, list(specs), binding) for binding in bindings]
    deleted = [_deleted(servers, specs, binding) for binding in bindings]
    snapshot = FleetSnapshot(
        region=region,
        topology=topology,
        hardware_types=types,
        servers=Servers(
            id=np.arange(len(servers)),
            name=servers,
            rack=rack,
            hardware_type=rack_type[rack],
            current=rows[0],
            target=rows[1],
            in_use=np.array([name in in_use for name in servers], bool),
            available=np.array([name not in down for name in servers], bool),
            leaving=np.array([name in leaving for name in servers], bool),
            drained=np.array([name in maintained for name in servers], bool),
            awaited=np.zeros(len(servers), bool),
            booked=np.array([name in booked for name in servers], bool),
            domain=np.array(
                [
                    [
                        [*kind.domains].index(domains[kind.name][name]) if name in domains[kind.name] else UNPLACED
                        for name in servers
                    ]
                    for kind in topology.kinds
                ],
                np.int32,
            )
            .reshape(len(topology.kinds), len(servers))
            .T,
            generation=np.ones(len(servers), np.int64),
        ),
        reservations=_reservations(specs, types, topology, resources),
        policy=policy or RegionPolicy(),
        cost_units=None if catalogue is None else listed_units(types, catalogue.units()),
        power=listed_watts(types, attributes or {}, tuple(power_limits)),
        resources=resources,
    )
    image = RegionImage(
        snapshot=snapshot,
        server_host_profile=names("", [host_profile.get(name, "default") for name in servers]),
        server_deleted_current=np.array(deleted[0], object),
        server_deleted_target=np.array(deleted[1], object),
        reservation_kind=names("", [kind.get(name, "guaranteed") for name in specs]),
        reservation_unit=names("", [spec.unit.value for spec in specs.values()]),
        reservation_owner=names("", [owner.get(name, "team") for name in specs]),
        reservation_host_profile=names("", [spec.host_profile for spec in specs.values()]),
        reservation_class=names("", [spec.workload_class for spec in specs.values()]),
        reservation_follows=names("", [spec.affinity_follows for spec in specs.values()]),
        hardware_type_attributes=attributes or {},
        catalogue=catalogue,
    )
    of = np.array([spec.guest_of for spec in specs.values()], object)
    return stacked(image, guests_of_rows(image, of, np.array([spec.guest_share or 0.0 for spec in specs.values()])))


def names(prefix: str, given: int | Collection[str]) -> Names:
    """Return an array of the given names, or of a number of names made from a prefix."""
    listed = [f"{prefix}-{i:02d}" for i in range(given)] if isinstance(given, int) else list(given)
    return np.array(listed, object)


def _reservations(
    specs: Mapping[str, ReservationSpec], types: Names, topology: Topology, resources: Resources
) -> Reservations:
    def limits(values: list[float | None]) -> np.ndarray:
        return np.array([np.inf if value is None else value for value in values], float)

    shape = (len(specs), len(topology.datacenters))
    share = [[spec.affinity.get(name, np.nan) for name in topology.datacenters] for spec in specs.values()]
    rru = [[spec.rru.get(name, 0.0) for name in types] for spec in specs.values()]
    return Reservations(
        id=np.arange(len(specs)),
        name=names("", specs),
        capacity_rru=np.array([spec.capacity_rru for spec in specs.values()], float),
        survives_msb_loss=np.array([spec.survives_msb_loss for spec in specs.values()], bool),
        survives_loss_of=np.array(
            [[kind.name in spec.survives_loss_of for kind in topology.kinds] for spec in specs.values()], bool
        ).reshape(len(specs), len(topology.kinds)),
        msb_spread_limit=limits([spec.msb_spread_limit for spec in specs.values()]),
        rack_spread_limit=limits([spec.rack_spread_limit for spec in specs.values()]),
        rru=np.array(rru, float).reshape(len(specs), len(types)),
        resources=resources_table([spec.resources for spec in specs.values()], resources),
        affinity_share=np.array(share, float).reshape(shape),
        priority=np.array([spec.priority for spec in specs.values()], np.int64),
        move_cost=np.array([spec.move_cost for spec in specs.values()], float),
        gbit_per_rru=np.array([spec.gbit_per_rru for spec in specs.values()], float),
        msb_share_max=limits([spec.msb_share_max for spec in specs.values()]),
        allowed=np.array(
            [[not s.datacenters or name in s.datacenters for name in topology.datacenters] for s in specs.values()],
            bool,
        ).reshape(shape),
        domain_limits=np.array(
            [limits_table(spec.domain_limits, topology.kinds) for spec in specs.values()], float
        ).reshape(len(specs), 2 + len(topology.kinds), len(LIMITS)),
        generation=np.ones(len(specs), np.int64),
    )


def _binding(servers: Names, reservations: list[str], binding: Mapping[str, str]) -> Indices:
    rows = {name: row for row, name in enumerate(reservations)}
    found = [rows.get(binding[name], DELETED) if name in binding else FREE for name in servers]
    return np.array(found, np.int32)


def _deleted(servers: Names, specs: Mapping[str, ReservationSpec], binding: Mapping[str, str]) -> list[str | None]:
    return [binding[name] if name in binding and binding[name] not in specs else None for name in servers]
