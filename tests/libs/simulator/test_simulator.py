"""The made-up world is the same for the same seed, and agrees with its sources."""

import json
from importlib.resources import files

import numpy as np
import pytest

from libs.domain.unavailability import UnavailabilityScope
from libs.simulator.allocator import AllocatedServer, decide_in_use
from libs.simulator.demand import DemandKind, draw_demand
from libs.simulator.failures import draw_failures
from libs.simulator.fleet import made_up_fleet
from libs.simulator.hardware import hardware, vcpu_rru

DAY_S = 86_400.0


def test_a_region_has_its_parts_and_racks_of_one_type() -> None:
    snapshot = made_up_fleet("west").snapshot
    assert len(snapshot.servers) == 2000
    assert (len(snapshot.topology.datacenters), len(snapshot.topology.msbs)) == (5, 12)
    assert set(np.bincount(snapshot.server_msb)) <= {166, 167}
    assert set(np.bincount(snapshot.server_datacenter) > 0) == {True}
    assert len(np.unique(snapshot.servers.hardware_type)) == 8
    pairs = set(zip(snapshot.servers.rack.tolist(), snapshot.servers.hardware_type.tolist(), strict=True))
    assert len(pairs) == len(snapshot.topology.racks)
    assert list(snapshot.hardware_types) == sorted(snapshot.hardware_types)


def test_newer_msbs_have_newer_types() -> None:
    snapshot = made_up_fleet("west").snapshot
    age = {figures.name: i for i, figures in enumerate(hardware())}
    of_server = np.array([age[name] for name in snapshot.hardware_types])[snapshot.servers.hardware_type]
    means = [of_server[snapshot.server_msb == m].mean() for m in range(12)]
    assert np.corrcoef(means, np.arange(12))[0, 1] > 0.9


@pytest.mark.parametrize(("servers", "datacenters", "msbs"), [(1, 1, 1), (7, 2, 3), (100_000, 5, 36)])
def test_any_size_will_do(servers: int, datacenters: int, msbs: int) -> None:
    snapshot = made_up_fleet("r", servers=servers, datacenters=datacenters, msbs=msbs).snapshot
    assert len(snapshot.servers) == servers
    assert len(np.unique(snapshot.server_msb)) == msbs


def test_rru_counts_vcpus() -> None:
    rru = vcpu_rru()
    assert min(rru.values()) == 1.0
    assert rru["m5.metal"] == 2.0


def test_demand_is_that_of_the_trace_scaled_to_the_region() -> None:
    image = made_up_fleet("west")
    table = json.loads(files("libs.simulator").joinpath("azure_vm_2017.json").read_text())
    events = [e for seed in range(5) for e in draw_demand(image, duration_s=DAY_S, seed=seed)]
    created = [e for e in events if e.kind is DemandKind.CREATE]
    assert len(created) / 5 == pytest.approx(table["requests_per_day"], rel=0.1)
    sizes = np.array([e.spec.capacity_rru for e in created if e.spec is not None])
    assert np.median(sizes) / sizes.mean() == pytest.approx(128 / 185, rel=0.15)
    fleet_rru = sum(vcpu_rru()[image.snapshot.hardware_types[t]] for t in image.snapshot.servers.hardware_type)
    concurrent = table["requests_per_day"] / DAY_S * table["lifetime_s"]["mean"]
    assert sizes.mean() * concurrent / fleet_rru == pytest.approx(0.6, rel=0.15)


def test_owners_change_only_what_they_have() -> None:
    events = draw_demand(made_up_fleet("west"), duration_s=DAY_S, requests_per_day=200, seed=3)
    live: set[str] = set()
    for event in events:
        if event.kind is DemandKind.CREATE:
            assert event.reservation not in live
            live.add(event.reservation)
        else:
            assert event.reservation in live
        if event.kind is DemandKind.DELETE:
            live.remove(event.reservation)
    assert [e.at_s for e in events] == sorted(e.at_s for e in events)
    assert {e.kind for e in events} == set(DemandKind)


def test_failures_come_at_the_rates_of_the_paper() -> None:
    snapshot = made_up_fleet("west").snapshot
    duration_s = 30 * DAY_S
    failures = draw_failures(snapshot.topology, snapshot.servers.name, duration_s=duration_s)
    down_s = sum(min(f.over_s, duration_s) - f.at_s for f in failures if f.scope is UnavailabilityScope.SERVER)
    assert down_s / (2000 * duration_s) == pytest.approx(0.01, rel=0.1)
    over: dict[str, float] = {}
    for failure in failures:
        assert over.get(failure.name, 0.0) <= failure.at_s < failure.over_s
        over[failure.name] = failure.over_s
    century = draw_failures(snapshot.topology, snapshot.servers.name[:1], duration_s=100 * 365 * DAY_S)
    msbs = sum(f.scope is UnavailabilityScope.MSB for f in century)
    assert 10 <= msbs <= 45, "2 % of 12 MSBs a year are 24 in a century"


def test_the_same_seed_makes_the_same_world() -> None:
    a, b, c = (made_up_fleet("west", seed=seed) for seed in (1, 1, 2))
    types = [image.snapshot.servers.hardware_type.tolist() for image in (a, b, c)]
    assert types[0] == types[1] != types[2]
    demand = [draw_demand(a, duration_s=DAY_S, seed=seed) for seed in (1, 1, 2)]
    assert demand[0] == demand[1] != demand[2]
    s = a.snapshot
    failures = [draw_failures(s.topology, s.servers.name, duration_s=DAY_S, seed=seed) for seed in (1, 1, 2)]
    assert failures[0] == failures[1] != failures[2]


def test_the_allocator_uses_four_of_five_servers_that_have_joined() -> None:
    def server(i: int, current: str | None, target: str | None, in_use: bool = False) -> AllocatedServer:
        return AllocatedServer(
            server_id=i,
            generation=i + 1,
            name=f"s{i}",
            current_reservation=current,
            target_reservation=target,
            in_use=in_use,
        )

    joined = [server(i, "web", "web") for i in range(1000)]
    chosen = decide_in_use(joined)
    assert len(chosen) == pytest.approx(800, abs=50)
    assert chosen == decide_in_use(joined)
    assert all(decision.generation == decision.server_id + 1 for decision in chosen)
    others = [server(1, None, "web"), server(2, "web", "db"), server(3, "web", "web", in_use=True)]
    others += [server(4, "shared-buffer-hw-a", "shared-buffer-hw-a")]
    assert decide_in_use(others, used_share=1.0) == ()
