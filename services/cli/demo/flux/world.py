"""The world of the demo: three regions of one hardware type, and the planning inputs of the shop that runs in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from libs.domain.policy import RegionPolicy
from libs.domain.region_image import RegionImage
from libs.interchange.region.write import dump_region
from libs.simulator.fleet import uniform_fleet
from libs.simulator.shop import Shop, gateways
from libs.simulator.teastore import PRODUCTS, cpu_per_request, services
from services.cli.client import Client, Json

EAST, NORTH, WEST = "east", "north", "west"
REGIONS = (EAST, NORTH, WEST)
SHARES: Mapping[str, float] = {EAST: 0.34, NORTH: 0.33, WEST: 0.33}
PEAK_RPS: Mapping[str, float] = {"browse": 400e3, "account": 100e3, "checkout": 160e3}
OWNER = "teastore"
SERVER_TYPE, VCPU, COMPUTE = "c16", 16, "compute"
HEADROOM = 0.1
"""Share of a service's capacity that its reservation holds on top of it."""
MSBS, SERVERS_PER_RACK = 6, 4
_RACKS: Mapping[str, int] = {EAST: 27, NORTH: 36, WEST: 36}
LOST_RACKS = (("rack-0001",), ("rack-0006", "rack-0011", "rack-0016"))
"""The racks that the east loses in each cycle: 16 of 108 servers, 15 %. The second loss is larger, because the first
frees embedded buffers too.
"""
APPROVED = "persistence"
"""The service whose owner approves every change of its capacity."""
STATEFUL = "persistence"
"""The service whose replicas are built before its traffic comes."""
STEPS = 3


def region_image(region: str) -> RegionImage:
    """Return a region whose servers are all free."""
    return uniform_fleet(
        region,
        hardware_type=SERVER_TYPE,
        msb_racks=[_RACKS[region] // MSBS + (m < _RACKS[region] % MSBS) for m in range(MSBS)],
        servers_per_rack=SERVERS_PER_RACK,
        policy=RegionPolicy(buffer_cost=1.0, spread_cost=0.5),
    )


def import_regions(admin: Client) -> int:
    """Import the regions, and return the number of their servers."""
    count = 0
    for region in REGIONS:
        image = region_image(region)
        count += len(image.snapshot.servers)
        files = {name.partition(".")[0]: (name, content) for name, content in dump_region(image).items()}
        admin.post(f"/v1/regions/{region}/import", files=files)
    return count


def used_at_peak(shares: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], float]:
    """Return (service, region) -> vCPUs that the shop uses at the peak of a day, by the published demands."""
    return {
        (service, region): sum(PEAK_RPS[p] * shares[p][region] * cpu_per_request(p).get(service, 0.0) for p in PRODUCTS)
        for service in services()
        for region in REGIONS
    }


def ask_for_reservations(owner: Client) -> None:
    """Ask each region for the capacity that each service uses there at peak, and its headroom."""
    shares = dict.fromkeys(PRODUCTS, SHARES)
    for (service, region), used in used_at_peak(shares).items():
        spec = {"capacity_rru": round(used * (1 + HEADROOM), 1), "rru": {SERVER_TYPE: float(VCPU)}}
        body: Json = {"kind": "create", "region": region, "reservation": service, "owner": OWNER, "spec": spec}
        owner.post("/v1/capacity-requests", body)


def put_inputs(operator: Client) -> None:
    """Put the tables that a plan needs. The supply comes from the regions, so its rows only name them."""
    for name, rows in _inputs():
        operator.put(f"/v1/planning-inputs/{name}", {"rows": rows}, generation=0)


def _inputs() -> Iterator[tuple[str, list[Json]]]:
    yield "gateways", [dict(row) for row in gateways()]
    yield (
        "supply",
        [
            {"step": step, "region": region, "hardware_type": COMPUTE, "capacity": 0}
            for step in range(STEPS)
            for region in REGIONS
        ],
    )
    yield (
        "services",
        [
            {"service": one, "hardware_type": COMPUTE, "automated": 1, "requires_approval": int(one == APPROVED)}
            for one in services()
        ],
    )
    yield (
        "service_reservations",
        [
            {
                "service": one,
                "hardware_type": COMPUTE,
                "reservation": one,
                "rru_per_unit": 1.0,
                "headroom": HEADROOM,
            }
            for one in services()
        ],
    )
    # The program counts capacity without headroom, so a server is worth what it serves beside its headroom.
    units = VCPU / (1 + HEADROOM)
    yield "server_units", [{"server_type": SERVER_TYPE, "hardware_type": COMPUTE, "units": units}]


def announce_loss(operator: Client, cycle: int, midnight: datetime) -> None:
    """Announce the racks that the east loses at the end of a cycle's day. Its plan does not count on them any more."""
    due = midnight + timedelta(hours=23)
    for rack in LOST_RACKS[cycle - 1]:
        body = {
            "region": EAST,
            "scope": "rack",
            "scope_name": rack,
            "kind": "decommission",
            "reason": "end of lease",
            "due_at": due.isoformat(),
        }
        operator.post("/v1/retirements", body)


def new_shop(seed: int) -> Shop:
    """Return the shop, with its traffic where it is at first."""
    first = {product: dict(SHARES) for product in PRODUCTS}
    return Shop(regions=REGIONS, peak_rps=PEAK_RPS, seed=seed, shares={0.0: first})
