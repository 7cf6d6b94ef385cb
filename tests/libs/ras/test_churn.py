"""Plans keep to the churn budget, except to repair a promise, and report what it held back."""

from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_plan
from libs.plan_check.churn import ChurnBudget, churn_budget, counted_preemptions, counted_servers, given_back
from libs.ras.churn import divided
from libs.ras.evaluate import coverage_of
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region

COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def lopsided(*, in_use=True, capacity=8, **policy):
    """Return a region in which all 16 servers of two reservations are in one MSB each, though 40 are free elsewhere.

    To survive an MSB's loss at the least cost, each wants to exchange most of its servers.
    """
    servers = [(0, 0, 0, in_use)] * 16 + [(1, 0, 1, in_use)] * 16 + [(m, 0) for m in (2, 3, 4, 5) for _ in range(10)]
    shares = {"daily_churn_share": 1.0, "solve_churn_share": 1.0, "reservation_churn_share": 1.0}
    return region(
        msb_datacenter=(0,) * 6,
        servers=servers,
        capacity=[capacity] * 2,
        survives=[False, False],
        msb_limit=[0.2, 0.2],
        policy=RegionPolicy(spread_cost=50.0, surplus_cost=0.0, **shares | policy),
    )


def solved(snapshot, columns, *, churned=(0, 0)):
    snapshot = replace(snapshot, churned=np.array(churned))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    return counted_preemptions(snapshot, found.plan.target), found.report.as_dict()["churn"]


@COLUMNS
def test_a_plan_preempts_no_more_than_the_region_may(columns):
    snapshot = lopsided(capacity=16, solve_churn_share=0.125)
    wanted, _ = solved(lopsided(capacity=16), columns)
    planned, told = solved(snapshot, columns)
    assert wanted.sum() > 16
    assert planned.sum() == 4 == told["most"]
    assert (told["in_use"], told["used"], told["planned"], told["over"]) == (32, 0, 4, 0)
    assert sum(told["held_back"].values()) == wanted.sum() - 4
    assert set(told["held_back"]) == {"r0", "r1"}


@COLUMNS
def test_preemptions_of_the_day_count_for_the_region_and_for_their_reservation(columns):
    snapshot = lopsided(capacity=16, daily_churn_share=0.25, reservation_churn_share=0.25)
    planned, told = solved(snapshot, columns, churned=(3, 0))
    assert (told["used"], told["most"]) == (3, 5)
    assert (planned <= [1, 4]).all()
    assert planned.sum() == told["planned"] > 0
    assert solved(snapshot, columns, churned=(4, 4))[0].tolist() == [0, 0]


@COLUMNS
def test_what_a_reservation_gives_back_does_not_count(columns):
    snapshot = lopsided(capacity=2, daily_churn_share=0.0)
    snapshot = replace(snapshot, policy=replace(snapshot.policy, surplus_cost=12.0, spread_cost=0.0))
    assert given_back(snapshot).tolist() == [14, 14]
    found = plan_target_bindings(replace(snapshot, churned=np.zeros(2, int)), Limits(exact_columns_max=columns))
    assert np.bincount(found.plan.target[found.plan.target >= 0]).tolist() == [2, 2]
    assert found.report.as_dict()["churn"]["planned"] == 0


def occupied(*, free=4, share=0.0, **changes):
    """Return a region in which r1 wants 3 servers of type 1. r0 holds all 4 in use, and others could replace them."""
    snapshot = region(
        msb_datacenter=(0,),
        types=2,
        servers=[(0, 1, 0, True)] * 4 + [(0, 0)] * free,
        capacity=[4, 3],
        rru=[[1.0, 1.0], [0.0, 1.0]],
        survives=[False, False],
        policy=RegionPolicy(daily_churn_share=share, solve_churn_share=share, reservation_churn_share=share),
    )
    return replace(snapshot, churned=np.zeros(2, int), **changes)


def repaired_beside_a_request(**policy):
    """Return a region in which r2 lacks one granted server, and r1 waits for two more. Only r0 has such servers."""
    snapshot = region(
        msb_datacenter=(0,),
        types=2,
        servers=[(0, 1, 0, True)] * 4 + [(0, 0)] * 4,
        capacity=[4, 2, 1],
        rru=[[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]],
        survives=[False] * 3,
        policy=RegionPolicy(daily_churn_share=0.0, solve_churn_share=0.0, reservation_churn_share=0.0, **policy),
    )
    return replace(snapshot, churned=np.zeros(3, int), promised_rru=np.array([4.0, 0.0, 1.0]))


@COLUMNS
def test_a_repair_may_exceed_the_budget_and_says_by_how_much(columns):
    snapshot = occupied()
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    assert not coverage_of(snapshot, found.plan.target).shortfall.any()
    told = found.report.as_dict()["churn"]
    assert (told["planned"], told["over"], told["held_back"]) == (3, 3, {})
    assert found.report.gap == pytest.approx(0.0, abs=0.01)


@COLUMNS
def test_only_the_repair_of_what_was_granted_exceeds_the_budget(columns):
    """r2 lacks one granted server, and r1 waits for two more. r0 could give all three, but gives r2 its one."""
    snapshot = repaired_beside_a_request()
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    assert coverage_of(snapshot, found.plan.target).shortfall.tolist() == [0.0, 2.0, 0.0]
    told = found.report.as_dict()["churn"]
    assert (told["planned"], told["over"], told["held_back"]) == (1, 1, {"r0": 2})


@COLUMNS
def test_a_request_that_was_not_granted_yet_exceeds_no_budget(columns):
    snapshot = occupied(promised_rru=np.array([4.0, 0.0]))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    told = found.report.as_dict()["churn"]
    assert (told["planned"], told["over"], told["held_back"]) == (0, 0, {"r0": 3})
    assert coverage_of(snapshot, found.plan.target).shortfall.tolist() == [0.0, 3.0]


@COLUMNS
def test_a_request_that_was_not_granted_yet_gets_what_the_budget_allows(columns):
    snapshot = occupied(share=0.5, promised_rru=np.array([4.0, 0.0]))
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    told = found.report.as_dict()["churn"]
    assert (told["planned"], told["over"], told["held_back"]) == (2, 0, {"r0": 1})
    assert coverage_of(snapshot, found.plan.target).shortfall.tolist() == [0.0, 1.0]


@COLUMNS
def test_no_bound_is_above_a_repair_that_gives_a_request_nothing(columns):
    """r2 lacks one granted server, and r1 waits for two. With them the plan would lack less, and cost 30,000."""
    snapshot = repaired_beside_a_request(move_cost_in_use=10_000.0, surplus_cost=0.0)
    report = plan_target_bindings(snapshot, Limits(exact_columns_max=columns)).report
    assert report.score.total_without_rack == 12_000
    assert report.lower_bound <= 12_000
    assert not report.proven


@COLUMNS
def test_no_bound_is_above_a_plan_that_leaves_a_limit_broken_for_the_budget(columns):
    """Each server of r0 is more than an MSB may have. To free them would repair that, and lack more."""
    snapshot = region(
        msb_datacenter=(0, 0),
        servers=[(0, 0, 0, True), (1, 0, 0, True)],
        capacity=[1.5],
        survives=[True],
        msb_share_max=[0.4],
        policy=RegionPolicy(solve_churn_share=0.0, surplus_cost=0.0, fix_first=False),
    )
    report = plan_target_bindings(replace(snapshot, churned=np.zeros(1, int)), Limits(exact_columns_max=columns)).report
    assert report.score.penalty == 500
    assert report.least_penalty <= 500
    assert report.lower_bound <= report.score.total_without_rack


def test_the_check_refuses_exchanges_for_a_request_that_was_not_granted_yet():
    snapshot = occupied()
    plan = plan_target_bindings(snapshot).plan
    assert check_plan(replace(snapshot, promised_rru=np.array([4.0, 0.5])), plan) == []
    waiting = replace(snapshot, promised_rru=np.array([4.0, 0.0]))
    assert [one.reason for one in check_plan(waiting, plan)] == ["ChurnBudget"]


def test_without_a_count_of_the_day_there_is_no_budget():
    found = plan_target_bindings(lopsided(capacity=16, daily_churn_share=0.0))
    assert found.report.score.moved_in_use > 16
    assert "churn" not in found.report.as_dict()


def test_only_new_preemptions_of_servers_in_use_count():
    snapshot = lopsided(capacity=16)
    servers = snapshot.servers
    target = np.full(len(servers), FREE, np.int32)
    assert counted_preemptions(snapshot, target).tolist() == [16, 16]
    assert counted_preemptions(lopsided(in_use=False), target).tolist() == [0, 0]
    moving = replace(snapshot, servers=replace(servers, current=np.full(len(servers), FREE, np.int32)))
    assert counted_preemptions(moving, target).tolist() == [0, 0]
    down = replace(snapshot, servers=replace(servers, available=servers.target != 0))
    assert counted_preemptions(down, target).tolist() == [0, 16]


def test_the_first_servers_beyond_those_given_back_count():
    snapshot = lopsided(capacity=14)
    target = np.full(len(snapshot.servers), FREE, np.int32)
    counts = counted_servers(snapshot, target)
    assert [int(counts[:16].sum()), int(counts[16:32].sum()), int(counts[32:].sum())] == [14, 14, 0]


def test_the_check_refuses_a_plan_beyond_the_budget():
    snapshot = replace(lopsided(capacity=16, solve_churn_share=0.125), churned=np.zeros(2, int))
    found = plan_target_bindings(replace(snapshot, churned=None)).plan
    assert [one.reason for one in check_plan(snapshot, found)] == ["ChurnBudget"]


def test_a_share_above_zero_allows_one_server():
    snapshot = replace(lopsided(solve_churn_share=0.001, reservation_churn_share=0.001), churned=np.zeros(2, int))
    budget = churn_budget(snapshot)
    assert (budget.region, budget.reservation.tolist()) == (1, [1, 1])


@pytest.mark.parametrize(
    ("region_most", "most", "wanted", "expected"),
    [
        (10, [9, 9], [3, 4], [3, 4]),
        (10, [2, 9], [3, 4], [2, 4]),
        (5, [9, 9, 9], [5, 5, 0], [3, 2, 0]),
        (0, [9, 9], [3, 4], [0, 0]),
    ],
)
def test_what_is_left_is_divided_by_what_is_wanted(region_most, most, wanted, expected):
    budget = ChurnBudget(in_use=100, used=0, region=region_most, reservation=np.array(most))
    assert divided(budget, np.array(wanted)).tolist() == expected


def test_a_repair_beyond_the_budget_regresses_no_request_that_waits():
    # r0 asks for 10 in dc-0, has 2 there in one MSB, and was granted nothing. A repair asks for none of it, and would
    # free both. r1 was granted 2 of a type of which r2 has all, in use. r2 could use the free ones of another type.
    servers = [*[(0, 0, 0, False)] * 2, (1, 1, 2, True), (1, 1, 2, True), (2, 2), (2, 2)]
    snapshot = region(
        types=3,
        servers=servers,
        capacity=[10, 2, 2],
        rru=[[1, 0, 0], [0, 1, 0], [0, 1, 1]],
        survives=[True, False, False],
        affinity=[[1.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]],
        policy=RegionPolicy(solve_churn_share=0, daily_churn_share=0, reservation_churn_share=0),
    )
    snapshot = replace(snapshot, churned=np.zeros(3, np.int64), promised_rru=np.array([0.0, 2.0, 2.0]))
    found = plan_target_bindings(snapshot)
    assert check_plan(snapshot, found.plan) == []
