"""Resources beside RRU: plans give each of those that a reservation asks for, also after a loss."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_limits import DomainLimit
from libs.domain.fleet import FREE, TargetPlan
from libs.domain.reservation import Coverage, HeldResource
from libs.domain.resources import Resources
from libs.plan_check.check import check_plan
from libs.plan_check.regression import shortfall_rru, unmet_rru
from libs.ras.admission import admit
from libs.ras.evaluate import coverage_of, surplus_servers
from libs.ras.findings import findings_of
from libs.ras.solve import plan_target_bindings
from libs.ras.statement import state_region
from tests.builders.enumerated import (
    EXACT,
    assert_mended_first,
    assert_not_worse_on_counts,
    assert_solved_to_the_optimum,
)
from tests.builders.random_region import random_region, region

SMALL = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def with_resources(snapshot, rng, resources=2):
    """Return the snapshot with amounts of resources, drawn at random, that some of its reservations ask for."""
    R, T = len(snapshot.reservations), len(snapshot.hardware_types)
    amount = rng.integers(0, 5, (resources, T)) * rng.choice([1.0, 16.0], (resources, 1))
    enough = amount.max(1) * len(snapshot.servers) / (2 * R)
    asked = np.where(rng.random((R, resources)) < 0.7, (enough * rng.random((R, resources))).round(1), 0.0)
    return replace(
        snapshot,
        reservations=replace(
            snapshot.reservations,
            capacity_rru=np.maximum(snapshot.reservations.capacity_rru, 0.5),
            resources=asked,
            rack_spread_limit=np.full(R, np.inf),
        ),
        resources=Resources(names=np.array([f"r{k}" for k in range(resources)], object), amount=amount),
    )


@st.composite
def tiny(draw, servers_max=5):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return with_resources(random_region(rng, int(rng.integers(0, servers_max + 1)), int(rng.integers(1, 3))), rng)


def left_by_definition(snapshot, binding, r, of_type):
    """Return what reservation `r` has, and has after its worst loss, if a server of type t gives `of_type[t]`."""
    s, q = snapshot.servers, snapshot.reservations
    mine = [i for i in range(len(s)) if binding[i] == r and s.lasting[i] and q.rru[r, s.hardware_type[i]] > 0]
    by_msb = [0.0] * len(snapshot.topology.msbs)
    for i in mine:
        by_msb[snapshot.server_msb[i]] += of_type[s.hardware_type[i]]
    return sum(by_msb), sum(by_msb) - (max(by_msb) if q.survives_msb_loss[r] else 0.0)


@SMALL
@given(tiny(servers_max=12), st.integers(0, 2**32 - 1))
def test_what_is_left_of_each_resource_follows_the_definition(snapshot, seed):
    q = snapshot.reservations
    binding = np.random.default_rng(seed).integers(FREE, len(q), len(snapshot.servers)).astype(np.int32)
    covered, asked = coverage_of(snapshot, binding), np.flatnonzero((q.resources > 0).any(0))
    for r in range(len(q)):
        has, left = left_by_definition(snapshot, binding, r, q.rru[r])
        unmet, worst_share = max(0.0, q.capacity_rru[r] - left), left / q.capacity_rru[r]
        assert covered.total[r] == pytest.approx(has)
        for n, k in enumerate(asked):
            amount, wanted = snapshot.resources.amount[k], q.resources[r, k]
            if not wanted:
                continue
            has, left = left_by_definition(snapshot, binding, r, amount)
            assert (covered.held[n, r], covered.held_after[n, r]) == pytest.approx((has, left))
            per_unit = [v / a for v, a in zip(q.rru[r], amount, strict=True) if v > 0 and a > 0]
            unmet += max(0.0, wanted - left) * min(per_unit, default=q.capacity_rru[r] / wanted)
            worst_share = min(worst_share, left / wanted)
        lacks = max(0.0, q.capacity_rru[r] * (1 - worst_share))
        for found in (covered.shortfall, shortfall_rru(snapshot, binding)):
            assert found[r] == pytest.approx(lacks)
        for found in (covered.unmet, unmet_rru(snapshot, binding)):
            assert found[r] == pytest.approx(unmet)


@SMALL
@given(tiny())
def test_tiny_regions_are_solved_to_the_optimum_of_all_assignments(snapshot):
    assert_solved_to_the_optimum(snapshot)


@SMALL
@given(tiny())
def test_tiny_regions_are_mended_first_and_none_is_left_worse_off(snapshot):
    assert_mended_first(snapshot)


@settings(SMALL, max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_larger_regions_are_solved_on_counts_too(seed):
    rng = np.random.default_rng(seed)
    snapshot = with_resources(random_region(rng, 60, 4), rng)
    assert_not_worse_on_counts(snapshot)


@COLUMNS
def test_a_plan_has_each_resource_after_the_loss_of_any_msb(columns):
    # Type 0 has cores and little memory, type 1 has memory and few cores. RRU alone would take any four servers.
    servers = [(m, t) for m in range(3) for t in (0, 1) for _ in range(6)]
    snapshot = region(
        msb_datacenter=(0, 0, 0),
        types=2,
        servers=servers,
        capacity=[2],
        amounts=[[64, 8], [32, 512]],
        resources=[[200, 1600]],
    )
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    held = found.plan.target == 0
    for resource, wanted in ((0, 200), (1, 1600)):
        amount = snapshot.resources.amount[resource, snapshot.servers.hardware_type]
        assert all(amount[held & (snapshot.server_msb != lost)].sum() >= wanted for lost in range(3))
    assert held.sum() < 18
    assert found.report.score.reservations_short == 0


def test_a_plan_that_takes_memory_from_a_reservation_is_refused():
    snapshot = region(
        msb_datacenter=(0,),
        types=2,
        servers=[(0, 1, 0), (0, 0)],
        capacity=[1],
        survives=[False],
        amounts=[[8, 512]],
        resources=[[512]],
    )
    kept, swapped = (TargetPlan(target=np.array(t, np.int32), parent_plan_id=None) for t in ([0, FREE], [FREE, 0]))
    assert check_plan(snapshot, kept) == []
    (violation,) = check_plan(snapshot, swapped)
    assert violation.reason == "ShortfallGrows"
    assert violation.message == "r0 would be short of 504 resource-0 instead of 0"


def test_servers_for_a_resource_are_no_surplus():
    snapshot = region(
        msb_datacenter=(0,),
        types=1,
        servers=[(0, 0, 0)] * 4,
        capacity=[1],
        survives=[False],
        amounts=[[256]],
        resources=[[768]],
    )
    assert surplus_servers(snapshot, snapshot.servers.target).tolist() == [1]


def test_a_resource_that_no_server_has_counts_in_full():
    snapshot = region(msb_datacenter=(0,), servers=[(0, 0, 0)], capacity=[1], survives=[False])
    snapshot = snapshot.with_resources(["gpus"])
    snapshot = replace(snapshot, reservations=replace(snapshot.reservations, resources=np.array([[2.0]])))
    covered = coverage_of(snapshot, snapshot.servers.target)
    assert (covered.shortfall.tolist(), covered.unmet.tolist()) == ([1.0], [1.0])
    assert plan_target_bindings(snapshot, EXACT).plan.target.tolist() == [0]


def test_a_resource_that_was_asked_for_after_the_snapshot_is_left_to_the_next_finding():
    """Findings come from the coverage of the moment of the commit, which is later than the snapshot of the solve."""
    snapshot = region(msb_datacenter=(0,), servers=[(0, 0, 0)], capacity=[1], survives=[False], amounts=[[2]])
    new = HeldResource(resource="resource-0", asked=4.0, total=2.0, left=2.0)
    coverage = Coverage(
        servers=1,
        unavailable_servers=0,
        total_rru=1.0,
        worst_msb_rru=1.0,
        worst_msb="msb-0",
        shortfall_rru=0.5,
        survives_msb_loss=False,
        resources=(new,),
    )
    of = {int(snapshot.reservations.id[0]): coverage}
    [finding] = findings_of(snapshot, snapshot.servers.target, np.array([], np.int64), of)
    assert finding.numbers["short_rru"] == 0.5
    assert "resource-0" not in finding.message


def test_a_region_without_hardware_types_learns_of_a_resource():
    empty = region(msb_datacenter=(0,), types=0, servers=[], capacity=[1], survives=[False])
    known = empty.with_resources(["gpus"])
    assert (known.resources.amount.shape, known.reservations.resources.shape) == ((1, 0), (1, 1))


@pytest.mark.parametrize(
    ("capacity", "rru", "amount", "asked"), [(5e-324, 5e-324, 1e15, 1e-6), (1e12, 1e6, 1e-6, 1e15)]
)
def test_penalties_of_the_most_uneven_units_are_finite(capacity, rru, amount, asked):
    extreme = region(
        msb_datacenter=(0, 0),
        servers=[(0, 0, 0)],
        capacity=[capacity],
        rru=[[rru]],
        amounts=[[amount]],
        resources=[[asked]],
    )
    measures, covered = extreme.measures, coverage_of(extreme, extreme.servers.target)
    found = [measures[1].weight, measures[1].capacity, extreme.shared_rru, covered.unmet, covered.surviving]
    assert all(np.isfinite(one).all() for one in found)
    assert (measures[1].worth > 0).all()


def test_resources_that_no_reservation_asks_for_change_no_plan():
    plain = random_region(np.random.default_rng(5), 200, 8)
    rich = with_resources(plain, np.random.default_rng(6))
    rich = replace(rich, reservations=replace(plain.reservations, resources=np.zeros((8, 2))))
    limits = Limits(neighbourhoods_max=20)
    one, other = plan_target_bindings(plain, limits), plan_target_bindings(rich, limits)
    assert np.array_equal(one.plan.target, other.plan.target)
    assert one.report.size == other.report.size
    assert len(state_region(rich).problem.goals) == len(state_region(plain).problem.goals)


def with_memory(asked, **rest):
    """Return a region of 24 servers in 6 MSBs and 2 datacenters. Each server has 2 units of memory, and a reservation
    of 5 RRU asks for some.
    """
    places = {"msb_datacenter": (0, 0, 0, 1, 1, 1), "servers": [(m, 0) for m in range(6) for _ in range(4)]}
    found = region(capacity=[5], amounts=[[2.0]], resources=[[asked]], **places, **rest)
    return replace(found, resources=replace(found.resources, names=np.array(["memory"], object)))


def test_a_resource_beyond_the_hard_limits_names_a_way_out_that_is_granted():
    """In each of 6 MSBs, a quarter of 5 RRU has room for 1 server. Without one of them, 5 servers have 10 units."""
    verdict = admit(with_memory(20.0, msb_share_max=[0.25]), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondHardLimits")
    assert verdict.message.endswith("r0 could have 10 of 20 memory. Raise msb_share_max to 0.4.")
    assert (verdict.numbers["asked_memory"], verdict.numbers["most_memory"]) == pytest.approx((20, 10))
    assert admit(with_memory(20.0, msb_share_max=[0.4]), 0).phase == "granted"
    assert admit(with_memory(10.0, msb_share_max=[0.25]), 0).phase == "granted"


def test_fewer_rru_are_no_way_out_of_a_resource():
    few, more = (((DomainLimit(kind="msb", servers_max=most),),) for most in (2, 3))
    verdict = admit(with_memory(30.0, limits=few), 0)
    assert verdict.message.endswith("r0 could have 20 of 30 memory. Raise servers_max of msb to 3.")
    assert admit(with_memory(30.0, limits=more), 0).phase == "granted"


def test_datacenter_shares_bound_a_resource_too():
    """The band of dc-0 ends at 2.75 RRU. Without an MSB of dc-1, 8 servers remain there: 21.5 units in all."""
    verdict = admit(with_memory(40.0, affinity=[[0.5, np.nan]]), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondResource")
    assert "after its worst loss within its datacenter shares. Ask for at most that" in verdict.message
    assert verdict.numbers["most_memory"] == pytest.approx(21.5)


def test_shares_that_bar_the_rru_are_told_before_a_resource():
    verdict = admit(with_memory(10.0, affinity=[[0.0, 0.0]]), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondAffinity")


def test_a_resource_and_rru_that_both_lack_are_both_told():
    """Each MSB has room for 1 server, so 5 RRU remain of 6. All 20 servers that remain would have 40 units."""
    snapshot = with_memory(50.0, msb_share_max=[0.25])
    verdict = admit(replace(snapshot, reservations=replace(snapshot.reservations, capacity_rru=np.array([6.0]))), 0)
    assert (verdict.phase, verdict.reason) == ("rejected", "BeyondResource")
    assert "could give it 40 of 50 memory after its worst loss. Ask for at most that" in verdict.message
    assert "That alone is not enough: Within its hard limits (at most 0.25 of its" in verdict.message
