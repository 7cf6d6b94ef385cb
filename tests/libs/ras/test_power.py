"""Power: no plan binds more servers below a limit than the domain can feed, also while its moves are under way."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.domain_kind import MSB_KIND, UNPLACED
from libs.domain.domain_limits import LIMITS, DomainLimit
from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.domain.power import Power, PowerLimit, variance_of
from libs.domain.power_balance import STEPS, balance_cost, even_share, msb_all_w, msb_w
from libs.domain.power_use import above_w, beyond_w, room_w
from libs.plan_check.check import check_plan
from libs.plan_check.hard_limits import excess
from libs.ras.admission import admit
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.power_report import report_power
from libs.ras.solve import plan_target_bindings
from libs.ras.statement import state_region
from tests.builders.random_region import random_region, region, retargeted

EXACT = Limits(relative_gap=0.0)
SMALL = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def powered(snapshot, *limits, idle_w=100.0, full_w=300.0, **policy):
    """Return the snapshot with watts, with limits (kind, domain, W[, headroom]), and with costs."""
    T = len(snapshot.hardware_types)
    found = tuple(
        PowerLimit(kind=kind, domain=domain, limit_w=limit_w, headroom=headroom[0] if headroom else 0.0)
        for kind, domain, limit_w, *headroom in limits
    )
    power = Power(idle_w=np.resize(idle_w, T), full_w=np.resize(full_w, T), limits=found)
    return replace(snapshot, power=power, policy=replace(snapshot.policy, **policy))


def drawn_by_definition(snapshot, kind, domain, target):
    """Return the W below one limit while the plan `target` is carried out: server by server."""
    s, power, total = snapshot.servers, snapshot.power, 0.0
    topology = snapshot.topology
    for i in range(len(s)):
        if kind == MSB_KIND:
            here = str(topology.msbs[snapshot.server_msb[i]])
        else:
            j = [one.name for one in topology.kinds].index(kind)
            here = None if s.domain[i, j] == UNPLACED else str(topology.kinds[j].domains[s.domain[i, j]])
        if here == domain:
            full = s.current[i] != FREE or s.target[i] != FREE or target[i] != FREE
            total += power.full_w[s.hardware_type[i]] if full else power.idle_w[s.hardware_type[i]]
    return total


def with_limits(snapshot, rng):
    """Return the snapshot with a further kind of domain, and with limits that leave little room, or less than none."""
    S = len(snapshot.servers)
    rows = rng.integers(UNPLACED, 2, (1, S))
    other = region(servers=[(0, 0)] * S, domains=rows)
    snapshot = replace(
        snapshot,
        topology=replace(snapshot.topology, kinds=other.topology.kinds),
        servers=replace(snapshot.servers, domain=other.servers.domain),
        reservations=replace(
            snapshot.reservations,
            survives_loss_of=np.zeros((len(snapshot.reservations), 1), bool),
            rack_spread_limit=np.full(len(snapshot.reservations), np.inf),
            domain_limits=np.full((len(snapshot.reservations), 3, len(LIMITS)), np.inf),
        ),
    )
    names = [(MSB_KIND, str(m)) for m in snapshot.topology.msbs]
    names += [(kind.name, str(d)) for kind in snapshot.topology.kinds for d in kind.domains]
    plain = powered(snapshot, idle_w=[80.0, 120.0], full_w=[300.0, 410.0])
    now = {name: drawn_by_definition(plain, *name, np.full(S, FREE)) for name in names}
    limits = [(*name, now[name] + float(rng.choice([0, 220, 500, 900]))) for name in names if rng.random() < 0.8]
    return powered(snapshot, *limits, idle_w=[80.0, 120.0], full_w=[300.0, 410.0])


@st.composite
def tiny(draw, servers_max=5):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return with_limits(random_region(rng, int(rng.integers(1, servers_max + 1)), int(rng.integers(1, 3))), rng)


def legal_bindings(snapshot):
    s, rru = snapshot.servers, snapshot.reservations.rru
    of_server = [
        [FREE, *(r for r in range(len(rru)) if r == s.target[i] or rru[r, s.hardware_type[i]] > 0)]
        if s.available[i]
        else [max(s.target[i], FREE)]
        for i in range(len(s))
    ]
    for binding in itertools.product(*of_server):
        if all(
            drawn_by_definition(snapshot, one.kind, one.domain, binding)
            <= max(one.allowed_w, drawn_by_definition(snapshot, one.kind, one.domain, np.full(len(s), FREE))) + 1e-6
            for one in snapshot.power.limits
        ):
            yield np.array(binding, np.int32)


@SMALL
@given(tiny())
def test_tiny_regions_are_solved_to_the_optimum_within_their_limits(snapshot):
    snapshot = replace(snapshot, policy=RegionPolicy(fix_first=False))
    best = min(evaluate(snapshot, binding).total for binding in legal_bindings(snapshot))
    found = plan_target_bindings(snapshot, EXACT)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.total == pytest.approx(best, abs=1e-3)
    assert found.report.lower_bound <= best + 1e-5


@settings(SMALL, max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_larger_regions_are_solved_on_counts_within_their_limits(seed):
    rng = np.random.default_rng(seed)
    snapshot = with_limits(random_region(rng, 60, 4), rng)
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=0, neighbourhoods_max=4))
    assert check_plan(snapshot, found.plan) == []
    assert not beyond_w(snapshot, found.plan.target).any()
    assert found.report.score.penalty <= found.report.stay.penalty + 1e-6


@COLUMNS
def test_a_full_msb_gets_no_server_and_the_headroom_stays_free(columns):
    # 3 MSBs of 8 servers, 2 of them bound in each. msb-0 can feed one more, and so can msb-1 within its headroom.
    servers = [(m, 0, 0 if k < 2 else FREE) for m in range(3) for k in range(8)]
    plain = region(msb_datacenter=(0, 0, 0), servers=servers, capacity=[14], survives=[False])
    now = 2 * 300 + 6 * 100
    snapshot = powered(plain, ("MSB", "msb-0", now + 200.0), ("MSB", "msb-1", (now + 200.0) / 0.9, 0.1))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    held = np.bincount(snapshot.server_msb[found.plan.target == 0], minlength=3)
    assert held.tolist() == [3, 3, 8]
    assert coverage_of(snapshot, found.plan.target).shortfall[0] == 0
    beyond = np.where((snapshot.server_msb == 0) & (np.arange(24) < 6), 0, found.plan.target).astype(np.int32)
    violations = check_plan(snapshot, replace(found.plan, target=beyond))
    assert [one.reason for one in violations] == ["PowerLimitExceeded"]
    assert "msb-0 would add 800 W" in violations[0].message


@COLUMNS
def test_a_capacity_beyond_the_power_stays_short(columns):
    servers = [(m, 0) for m in range(2) for _ in range(8)]
    plain = region(msb_datacenter=(0, 0), servers=servers, capacity=[12], survives=[False])
    snapshot = powered(plain, *(("MSB", f"msb-{m}", 8 * 100 + 700.0) for m in range(2)))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    assert found.report.score.shortfall_rru == pytest.approx(6), "three servers of each MSB"


@COLUMNS
def test_a_server_that_leaves_makes_room_only_once_it_has_left(columns):
    # r0 gave its only capacity back. Its servers fill the only MSB's power, so r1 waits for them to go.
    servers = [(0, 0, 0), (0, 0, 0), (0, 1), (0, 1)]
    plain = region(
        msb_datacenter=(0,), types=2, servers=servers, capacity=[0, 2], rru=[[1, 0], [0, 1]], survives=[False, False]
    )
    snapshot = powered(plain, ("MSB", "msb-0", 2 * 300.0 + 2 * 100))
    limits = Limits(exact_columns_max=columns)
    first = plan_target_bindings(snapshot, limits).plan
    assert first.target.tolist() == [FREE] * 4
    on_the_way = replace(snapshot, servers=replace(snapshot.servers, target=first.target))
    assert plan_target_bindings(on_the_way, limits).plan.target.tolist() == [FREE] * 4
    second = plan_target_bindings(retargeted(snapshot, first.target), limits).plan
    assert second.target.tolist() == [FREE, FREE, 1, 1]


@COLUMNS
def test_a_domain_above_its_limit_gets_better_and_nobody_short(columns):
    # msb-0 has 4 servers of r0, and may feed 2. msb-1 has room for all of them; r1 may use nothing but msb-0's type.
    servers = [(0, 0, 0)] * 4 + [(0, 1, 1)] + [(1, 0)] * 4
    plain = region(
        msb_datacenter=(0, 0), types=2, servers=servers, capacity=[4, 1], rru=[[1, 0], [0, 1]], survives=[False, False]
    )
    snapshot = powered(plain, ("MSB", "msb-0", 3 * 300.0 + 2 * 100))
    assert room_w(snapshot).tolist() == [-400.0]
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    assert excess(snapshot, snapshot.servers.target) == pytest.approx(0.4)
    assert excess(snapshot, found.plan.target) == 0
    assert found.report.score.shortfall_rru == 0
    stuck = powered(plain, ("MSB", "msb-0", 5 * 100.0))
    target = plan_target_bindings(stuck, Limits(exact_columns_max=columns)).plan.target
    assert target[4] == 1, "the promise of r1 comes first"
    assert above_w(stuck, target).tolist() == [200.0]


@COLUMNS
def test_rows_that_cross_msbs_have_limits_too(columns):
    servers = [(m, 0) for m in range(2) for _ in range(6)]
    row = [k % 3 for _ in range(2) for k in range(6)]
    plain = region(
        msb_datacenter=(0, 0),
        servers=servers,
        capacity=[5],
        survives=[False],
        domains=[row],
        survives_loss_of=[[False]],
    )
    snapshot = powered(plain, ("kind_0", "0-0", 4 * 100.0), ("kind_0", "0-1", 4 * 100 + 200.0))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    assert np.bincount(np.array(row)[found.plan.target == 0], minlength=3).tolist() == [0, 1, 4]


def test_limits_that_no_plan_can_reach_change_no_problem():
    plain = random_region(np.random.default_rng(5), 200, 8)
    roomy = powered(plain, *(("MSB", str(m), 1e6) for m in plain.topology.msbs), ("MSB", "nowhere", 1.0))
    limits = Limits(neighbourhoods_max=20)
    one, other = plan_target_bindings(plain, limits), plan_target_bindings(roomy, limits)
    assert np.array_equal(one.plan.target, other.plan.target)
    assert one.report.size == other.report.size
    assert len(state_region(roomy).problem.constraints) == len(state_region(plain).problem.constraints)


def test_balance_lowers_the_variance_over_msbs_and_its_cost_follows_the_definition():
    # msb-0 is full, and the others are empty. No other cost tells MSBs apart.
    servers = [(m, 0, 0 if m == 0 else FREE) for m in range(4) for _ in range(8)]
    plain = region(msb_datacenter=(0, 0, 0, 0), servers=servers, capacity=[8], survives=[False])
    blind, snapshot = powered(plain), powered(plain, power_balance_cost=100.0)
    assert even_share(snapshot) == pytest.approx((8 * 300 + 24 * 100) / (32 * 300))
    kept, found = plan_target_bindings(blind, EXACT), plan_target_bindings(snapshot, EXACT)
    assert (kept.plan.target == plain.servers.target).all()
    report = found.report.power
    assert report == report_power(snapshot, snapshot.servers.target, found.plan.target)
    assert (report.fullest_before, report.variance_before) == (1.0, pytest.approx(np.var([1, 1 / 3, 1 / 3, 1 / 3])))
    assert report.variance_after == 0.0
    assert found.report.score.power < found.report.stay.power
    for binding in (snapshot.servers.target, found.plan.target):
        share = msb_w(snapshot, binding) / msb_all_w(snapshot)
        above = sum(2.4 * max(0.0, one - (even_share(snapshot) + step)) for one in share for step in STEPS)
        assert balance_cost(snapshot, binding) == pytest.approx(100.0 / len(STEPS) * above)
        assert evaluate(snapshot, binding).power == balance_cost(snapshot, binding)


@settings(SMALL, max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_the_bound_of_a_solve_holds_with_a_price_of_balance(seed):
    rng = np.random.default_rng(seed)
    snapshot = powered(random_region(rng, 5, 2), power_balance_cost=50.0)
    snapshot = replace(snapshot, policy=replace(snapshot.policy, fix_first=False))
    best = min(evaluate(snapshot, binding).total_without_rack for binding in legal_bindings(snapshot))
    found = plan_target_bindings(snapshot, EXACT)
    assert check_plan(snapshot, found.plan) == []
    assert found.report.lower_bound <= best + 1e-5
    assert found.report.score.total_without_rack >= best - 1e-6


def test_a_request_gets_what_its_domains_can_feed_and_hears_of_the_limit():
    servers = [(m, 0) for m in range(2) for _ in range(6)]
    plain = region(msb_datacenter=(0, 0), servers=servers, capacity=[6], survives=[False])
    snapshot = powered(plain, ("MSB", "msb-0", 6 * 100.0 + 200), ("MSB", "msb-1", 6 * 100.0 + 450))
    verdict = admit(snapshot, 0)
    assert (verdict.phase, verdict.reason) == ("degraded", "PowerLimits")
    assert verdict.numbers["short_rru"] == 3
    assert "MSB msb-0" in verdict.message
    assert "MSB msb-1" in verdict.message
    assert check_plan(snapshot, verdict.plan) == []
    assert admit(powered(plain), 0).phase == "granted"


def test_a_request_gets_servers_that_leave_another_and_draw_their_power_already():
    """The MSB is full until the servers of r1 have left. For r0 they can stay, and the two others cannot come."""
    servers = [(0, 0, 1), (0, 0, 1), (0, 0), (0, 0)]
    plain = region(msb_datacenter=(0,), servers=servers, capacity=[2, 0], survives=[False, False])
    snapshot = powered(plain, ("MSB", "msb-0", 2 * 300.0 + 2 * 100))
    leaving = replace(snapshot, servers=replace(snapshot.servers, target=np.full(4, FREE, np.int32)))
    verdict = admit(leaving, 0)
    assert (verdict.phase, verdict.plan.target.tolist()) == ("granted", [0, 0, FREE, FREE])
    assert check_plan(leaving, verdict.plan) == []
    more = replace(leaving, reservations=leaving.reservations.with_capacity(np.array([4.0, 0.0])))
    assert admit(more, 0).reason == "PowerLimits"


def test_variance_counts_msbs_with_watts_only():
    assert variance_of(np.array([0.0, 50.0, 100.0]), np.array([0.0, 100.0, 100.0])) == pytest.approx(0.0625)
    assert variance_of(np.zeros(2), np.zeros(2)) is None


@COLUMNS
def test_later_phases_take_no_server_back_into_a_domain_above_its_limit(columns):
    # Any server of r0 is above the limit of its rack, so the phase of racks looks at r0. Staying would cost no move.
    plain = region(msb_datacenter=(0, 0), servers=[(0, 0, 0), (1, 0)], capacity=[1], survives=[False], rack_limit=[0.5])
    snapshot = powered(plain, ("MSB", "msb-0", 200.0))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert [one.phase for one in found.report.phases] == ["racks"]
    assert found.plan.target.tolist() == [FREE, 0]
    assert excess(snapshot, found.plan.target) == 0
    assert found.report.lower_bound <= found.report.score.total_without_rack + 1e-6


@COLUMNS
def test_a_kw_above_a_limit_weighs_as_much_as_a_server_beyond_one(columns):
    # msb-0 draws 200 W more than it may, by the server of r0. r1 has one server more in msb-1 than it may. The only
    # free server, in msb-2, can repair one of both. r0 cannot use those of r1.
    plain = region(
        msb_datacenter=(0, 0, 0),
        types=2,
        servers=[(0, 0, 0), (1, 1, 1), (1, 1, 1), (2, 0)],
        capacity=[1, 2],
        rru=[[1, 0], [1, 1]],
        survives=[False, False],
        limits=[[], [DomainLimit(kind="msb", servers_max=1)]],
    )
    snapshot = powered(plain, ("MSB", "msb-0", 100.0))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert excess(snapshot, snapshot.servers.target) == pytest.approx(1.2)
    assert excess(snapshot, found.plan.target) == pytest.approx(0.2)
    assert found.report.score.shortfall_rru == 0


@COLUMNS
def test_a_limit_that_no_plan_can_reach_ends_no_solve(columns):
    # With one figure, a free server draws as much as a bound one. Without lasting servers, no plan frees any.
    plain = region(servers=[(0, 0, 0), (1, 0)], capacity=[1], survives=[False])
    alike = powered(plain, ("MSB", "msb-0", 200.0), idle_w=300.0)
    found = plan_target_bindings(alike, Limits(exact_columns_max=columns))
    assert found.plan.target.tolist() == [0, FREE]
    down = powered(plain, ("MSB", "msb-0", 200.0))
    down = replace(down, servers=replace(down.servers, available=np.zeros(2, bool)))
    assert plan_target_bindings(down, Limits(exact_columns_max=columns)).plan.target.tolist() == [0, FREE]


def test_the_bound_of_a_balance_knows_that_retiring_servers_go() -> None:
    # r0 is covered without the server that will be retired, so the plan gives that up, and msb-0 draws less.
    plain = region(msb_datacenter=(0, 0), servers=[(0, 0, 0), (0, 0, 0), (1, 0)], capacity=[1], survives=[False])
    snapshot = powered(plain, power_balance_cost=50.0)
    snapshot = replace(snapshot, servers=replace(snapshot.servers, leaving=np.array([True, False, False])))
    found = plan_target_bindings(snapshot, EXACT)
    assert found.plan.target.tolist() == [FREE, 0, FREE]
    score = found.report.score
    assert score.power > 0
    assert found.report.lower_bound == pytest.approx(score.total_without_rack, abs=1e-3)


def test_a_plan_that_keeps_a_retiring_server_is_not_proven_by_a_bound_without_its_power() -> None:
    plain = region(msb_datacenter=(0, 0), servers=[(0, 0, 0), (0, 0, 0), (1, 0)], capacity=[3], survives=[False])
    snapshot = powered(plain, power_balance_cost=50.0)
    assert plan_target_bindings(snapshot, EXACT).report.proven
    snapshot = replace(snapshot, servers=replace(snapshot.servers, leaving=np.array([True, False, False])))
    report = plan_target_bindings(snapshot, EXACT).report
    assert report.lower_bound < report.score.total_without_rack - 0.5
    assert not report.proven


def test_an_exceeded_limit_is_repaired_at_the_cost_of_a_server_of_a_short_reservation():
    """HiGHS took the start for optimal here: r1 lacks all of its capacity, with its server in msb-0 or without it."""
    snapshot = region(
        msb_datacenter=(0, 0, 1),
        types=2,
        servers=[(0, 0), (0, 0, 1, True), (0, 0), (0, 1), (2, 1), (1, 0), (1, 0)],
        capacity=[5, 3],
        rru=[[0.0, 2.0], [0.75, 0.0]],
        survives=[True, True],
        policy=RegionPolicy(surplus_cost=0.0),
    )
    snapshot = powered(snapshot, (MSB_KIND, str(snapshot.topology.msbs[0]), 345.0), idle_w=50.0, full_w=[300.0, 50.0])
    plan = plan_target_bindings(snapshot).plan
    assert check_plan(snapshot, plan) == []
    assert excess(snapshot, plan.target) == 0.0


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_a_repair_is_lawful_whether_or_not_the_policy_fixes_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = with_limits(random_region(rng, int(rng.integers(3, 7)), 2), rng)
    lower = tuple(replace(one, limit_w=max(1.0, one.limit_w - 500.0)) for one in snapshot.power.limits)
    snapshot = replace(snapshot, power=replace(snapshot.power, limits=lower), policy=RegionPolicy(fix_first=False))
    assert check_plan(snapshot, plan_target_bindings(snapshot, EXACT).plan) == []


@COLUMNS
def test_no_server_moves_for_what_a_retiring_one_relieves(columns: int) -> None:
    # r0 is covered without the server that will be retired, so that one goes, and msb-0 is below its limit by that.
    plain = region(msb_datacenter=(0, 0), servers=[(0, 0, 0, True), (0, 0, 0), (1, 0)], capacity=[1], survives=[False])
    plain = replace(plain, servers=replace(plain.servers, leaving=np.array([False, True, False])))
    snapshot = powered(plain, ("MSB", "msb-0", 300.0 + 100.0))
    assert excess(snapshot, snapshot.servers.target) == pytest.approx(0.2)
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert found.plan.target.tolist() == [0, FREE, FREE]
    assert excess(snapshot, found.plan.target) == 0
    assert found.report.lower_bound <= found.report.score.total_without_rack
    assert not found.report.proven, "its program counts on no retiring server"
