"""A reservation that is short keeps servers that would become free, although the objective gains by freeing them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import given

from libs.domain.fleet import FREE, FleetSnapshot, TargetPlan
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.ras.evaluate import coverage_of
from libs.ras.held_while_short import keep_held, keep_lawfully, with_held
from libs.ras.solve import plan_target_bindings
from tests.builders import random_region as built
from tests.builders.random_region import random_region, regions
from tests.builders.region import fleet_snapshot


def region(**more: object) -> FleetSnapshot:
    """Return a region of two MSBs with two servers each. `web` holds server-00 and server-01, both in msb-00."""
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0})
    known = {
        "msbs": 2,
        "racks_per_msb": 1,
        "servers_per_rack": 2,
        "reservations": {"web": spec},
        "current": {"server-00": "web", "server-01": "web"},
        "down": ["server-02", "server-03"],
    }
    return fleet_snapshot(**known | more)


def on_the_way_out(snapshot: FleetSnapshot) -> FleetSnapshot:
    """Return the region after a plan that frees every server."""
    return replace(snapshot, servers=replace(snapshot.servers, target=np.full(4, FREE, np.int32)))


def test_what_survives_no_loss_is_kept_all_the_same() -> None:
    """No server helps to survive the loss of the only MSB that is up, and each of them costs buffer."""
    result = with_held(region(), plan_target_bindings(region()))
    assert check_plan(region(), result.plan) == []
    assert result.plan.target.tolist() == [0, 0, FREE, FREE]


def test_an_earlier_plan_that_freed_them_is_mended() -> None:
    freed = on_the_way_out(region())
    result = with_held(freed, plan_target_bindings(freed))
    assert check_plan(freed, result.plan) == []
    assert result.plan.target.tolist() == [0, 0, FREE, FREE]


def test_only_what_is_lacking_stays_and_servers_in_use_come_first() -> None:
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
    freed = on_the_way_out(region(reservations={"web": spec}, in_use=["server-01"]))
    assert keep_held(freed, freed.servers.target).tolist() == [FREE, 0, FREE, FREE]


def test_servers_stay_for_each_resource_that_lacks() -> None:
    """Type 0 has the RRU, type 1 little of resource 0, and type 2 all of resource 1."""
    asks = {"types": 3, "rru": [[1, 1, 1]], "capacity": [1], "resources": [[8, 4]], "amounts": [[0, 1, 0], [0, 0, 4]]}
    held = built.region(servers=[(0, t, 0) for t in (0, 1, 2, 2)], msb_datacenter=(0,), **asks)
    freed = on_the_way_out(held)
    assert keep_held(freed, freed.servers.target).tolist() == [0, 0, 0, FREE]


def test_what_is_covered_by_its_targets_keeps_nothing() -> None:
    known = region()
    coming = np.array([FREE, FREE, 0, 0], np.int32)
    there = replace(known, servers=replace(known.servers, target=coming, available=np.ones(4, bool)))
    assert keep_held(there, coming).tolist() == coming.tolist()


def test_hard_limits_bound_what_stays() -> None:
    spec = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, msb_share_max=0.5)
    freed = on_the_way_out(region(reservations={"web": spec}))
    assert keep_held(freed, freed.servers.target).tolist() == [0, FREE, FREE, FREE]
    elsewhere = replace(freed, reservations=replace(freed.reservations, allowed=np.zeros((1, 1), bool)))
    assert (keep_held(elsewhere, freed.servers.target) == FREE).all()


def test_leaving_and_useless_servers_go() -> None:
    freed = on_the_way_out(region(leaving=["server-00"]))
    assert keep_held(freed, freed.servers.target).tolist() == [FREE, 0, FREE, FREE]
    useless = replace(freed, reservations=replace(freed.reservations, rru=np.zeros((1, 1))))
    assert (keep_held(useless, freed.servers.target) == FREE).all()


@given(regions())
def test_only_what_a_reservation_lacks_comes_back_and_no_limit_breaks(snapshot: FleetSnapshot) -> None:
    servers, q = snapshot.servers, snapshot.reservations
    freed = np.full(len(servers), FREE, np.int32)
    kept = keep_held(snapshot, freed)
    back = kept != freed
    assert (kept[back] == servers.current[back]).all()
    assert excess(snapshot, kept) == 0
    total = coverage_of(snapshot, kept).total
    rru = q.rru[kept[back], servers.hardware_type[back]]
    assert (rru > 0).all()
    for r in range(len(q)):
        mine = rru[kept[back] == r]
        assert not len(mine) or total[r] - mine.max() < q.capacity_rru[r], "a server more than it lacks"


def plan_of(snapshot: FleetSnapshot) -> TargetPlan:
    """Return the plan that changes nothing."""
    return TargetPlan(parent_plan_id=snapshot.target_plan_id, target=snapshot.servers.target)


def test_what_would_worsen_affinity_does_not_come_back() -> None:
    """`web` wants half in dc-00, which is down. dc-01 has its half already. An earlier plan freed server-10 and
    server-11, because they are of no help after the loss of msb-02.
    """
    bound = ["server-08", "server-09", "server-12", "server-13"]
    snapshot = region(
        datacenters=2,
        msbs=4,
        servers_per_rack=4,
        reservations={"web": ReservationSpec(capacity_rru=8, rru={"hw-a": 1.0}, affinity={"dc-00": 0.5, "dc-01": 0.5})},
        current=dict.fromkeys([*bound, "server-10", "server-11"], "web"),
        target=dict.fromkeys(bound, "web"),
        down=[f"server-{i:02d}" for i in (*range(8), 14, 15)],
    )
    plan = plan_of(snapshot)
    assert check_plan(snapshot, plan) == []
    assert np.flatnonzero(keep_held(snapshot, plan.target) != plan.target).tolist() == [10, 11]
    assert keep_lawfully(snapshot, plan).target.tolist() == plan.target.tolist()


def lawful_plans(seeds: int) -> Iterator[tuple[FleetSnapshot, TargetPlan]]:
    """Yield random regions in which many servers are on their way out or down, with plans that may be carried out."""
    for seed in range(seeds):
        chance = np.random.default_rng(seed)
        known = random_region(chance, 4 + seed % 16, 1 + seed % 3)
        size, q = len(known.servers), len(known.reservations)
        servers = replace(
            known.servers,
            current=np.where(chance.random(size) < 0.7, chance.integers(0, q, size), FREE).astype(np.int32),
            target=np.where(chance.random(size) < 0.6, FREE, known.servers.target).astype(np.int32),
            available=chance.random(size) < 0.6,
            drained=chance.random(size) < 0.1,
        )
        policy = RegionPolicy(fix_first=seed % 2 == 0, solve_churn_share=0.1)
        snapshot = replace(known, servers=servers, policy=policy, churned=np.zeros(q, np.int64))
        frees = chance.random(size) < 0.1
        for target in (servers.target, np.where(frees, FREE, servers.target).astype(np.int32)):
            plan = replace(plan_of(snapshot), target=target)
            if not check_plan(snapshot, plan):
                yield snapshot, plan


def test_a_lawful_plan_stays_lawful() -> None:
    undone = 0
    for snapshot, plan in lawful_plans(200):
        kept = keep_lawfully(snapshot, plan)
        assert check_plan(snapshot, kept) == []
        undone += int((kept.target != keep_held(snapshot, plan.target)).sum())
    assert undone, "no plan of this test needs the rule"
