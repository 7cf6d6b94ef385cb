"""Compare the phase of racks with an oracle that tries all plans, and check rules for any region."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.fleet import DELETED, FREE, TargetPlan
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_legal
from libs.plan_check.churn import churn_budget, counted_preemptions
from libs.plan_check.regression import by_place, check_regression
from libs.ras.evaluate import above_rack_limit, evaluate
from libs.ras.phases import refine
from libs.ras.phases.clock import Clock
from libs.ras.phases.few_reservations import FewReservations
from libs.ras.phases.kept_terms import worse_off
from libs.ras.phases.racks import spread_racks, worst
from libs.ras.phases.refine import batches
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region, regions

EXACT = Limits(relative_gap=0.0)
SMALL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
ALL = RegionPolicy(rack_phase_share=1.0)


def refined(snapshot, target, *, limits=EXACT, clock=None, budget=None):
    return spread_racks(snapshot, target, budget, limits, clock or Clock(), seed=0)


def present(snapshot):
    return np.maximum(snapshot.servers.target, FREE)


def one_full_rack(*, in_use=False, rack_limit=0.5, policy=None, spare=4):
    """Return a region whose reservation has all of its four servers in one of two racks of an MSB."""
    return region(
        msb_datacenter=(0,),
        racks_per_msb=2,
        servers=[*[(0, 0, 0, in_use)] * 4, *[(1, 0)] * spare],
        capacity=[4.0],
        survives=[False],
        rack_limit=[rack_limit],
        policy=policy or RegionPolicy(surplus_cost=0.0),
    )


def test_a_reservation_in_one_rack_moves_half_of_its_idle_servers_to_the_next() -> None:
    snapshot = one_full_rack()
    found = plan_target_bindings(snapshot)
    assert np.bincount(snapshot.servers.rack[found.plan.target == 0]).tolist() == [2, 2]
    (phase,) = found.report.phases
    assert (phase.before, phase.after, phase.moves, phase.gain) == pytest.approx((4.0, 0.0, 2.0, 2.0))
    assert (phase.moved_idle, phase.moved_in_use, phase.reservations) == (2, 0, ("r0",))
    assert found.report.as_dict()["phases"] == [phase.as_dict()]
    assert not found.report.proven  # racks cost moves, which the bound without racks does not know


def test_servers_in_use_stay_if_their_moves_cost_more_than_the_rack() -> None:
    snapshot = one_full_rack(in_use=True)
    assert plan_target_bindings(snapshot).plan.changes(snapshot).size == 0


def test_a_share_of_0_switches_the_phase_off() -> None:
    snapshot = one_full_rack(policy=RegionPolicy(surplus_cost=0.0, rack_phase_share=0.0))
    found = plan_target_bindings(snapshot)
    assert found.plan.changes(snapshot).size == 0
    assert found.report.phases == ()


def legal_plans(snapshot, target, chosen):
    """Return all plans that only change lasting servers of `chosen` and free ones, and that check_plan allows."""
    s, rru = snapshot.servers, snapshot.reservations.rru
    choices = []
    for i in range(len(s)):
        mine = s.lasting[i] and (target[i] < 0 or target[i] in chosen)
        able = [r for r in chosen if rru[r, s.hardware_type[i]] > 0 or r == s.target[i]]
        choices.append([FREE, *able] if mine else [target[i]])
    return [np.array(plan, np.int32) for plan in itertools.product(*choices)]


def crosses_a_band(snapshot, before, after):
    """Return whether a datacenter's load leaves its band of affinity, comes further from it, or to its other side."""
    q, D = snapshot.reservations, len(snapshot.topology.datacenters)
    low, high = (
        (q.affinity_share + side * snapshot.policy.affinity_tolerance) * q.capacity_rru[:, None] for side in (-1, 1)
    )
    was, now = (by_place(snapshot, plan, snapshot.server_datacenter, D) for plan in (before, after))
    return bool(((now > np.fmax(high, was) + 1e-6) | (now < np.fmin(low, was) - 1e-6))[~np.isnan(low)].any())


def assert_best(snapshot, target, chosen, answer, report):
    """Check that no legal plan costs less in which only `chosen` change, and no term but moves and racks grows."""
    kept = (
        plan
        for plan in legal_plans(snapshot, target, chosen)
        if not worse_off(snapshot, target, plan).any() and not crosses_a_band(snapshot, target, plan)
    )
    best = min(evaluate(snapshot, plan).objective for plan in kept)
    assert evaluate(snapshot, answer).objective == pytest.approx(best, abs=1e-3)
    assert report.gain == pytest.approx(evaluate(snapshot, target).total - evaluate(snapshot, answer).total, abs=1e-6)


@SMALL
@given(regions(servers_max=7, reservations_max=3))
def test_the_answer_is_the_best_of_all_plans_that_keep_every_other_term(snapshot) -> None:
    snapshot = replace(snapshot, policy=ALL)
    target = present(snapshot)
    chosen, _ = worst(snapshot, target)
    answer, report = refined(snapshot, target)
    if report is None:
        assert not len(chosen)
        assert not (above_rack_limit(snapshot, target) > 1e-6).any()
        return
    assert_best(snapshot, target, chosen, answer, report)


@SMALL
@given(regions(servers_max=60, reservations_max=8), st.sampled_from([0.2, 1.0]), st.booleans())
def test_no_other_term_of_any_reservation_grows_and_no_other_reservation_is_touched(snapshot, share, fix_first) -> None:
    units = np.array([0.5, 3.0])
    snapshot = replace(
        snapshot,
        policy=RegionPolicy(rack_phase_share=share, fix_first=fix_first),
        cost_units=units[: snapshot.reservations.rru.shape[1]],
    )
    target = plan_target_bindings(
        replace(snapshot, policy=replace(snapshot.policy, rack_phase_share=0.0)), Limits(neighbourhoods_max=4)
    ).plan.target
    chosen, _ = worst(snapshot, target)
    answer, report = refined(snapshot, target, limits=Limits())
    before, after = evaluate(snapshot, target), evaluate(snapshot, answer)
    assert not worse_off(snapshot.in_cost_units(), target, answer).any()
    for term in ("msb_spread", "buffer", "surplus", "short", "affinity"):
        assert getattr(after, term) <= getattr(before, term) + 1e-5
    assert after.total <= before.total + 1e-6
    others = (target >= 0) & ~np.isin(target, chosen)
    assert np.array_equal(answer[others], target[others])
    assert not np.isin(answer[~others], np.setdiff1d(np.arange(len(snapshot.reservations)), chosen)).any()
    assert check_legal(snapshot, TargetPlan(target=answer, parent_plan_id=None)) == []
    assert check_regression(snapshot, answer) == []
    if report is not None:
        assert len(chosen) <= math.ceil(share * len(snapshot.reservations))
        assert report.gain == pytest.approx(before.total - after.total, abs=1e-6)
        assert (report.before, report.after) == (before.rack_spread, after.rack_spread)


def test_the_churn_budget_holds_for_both_phases_together() -> None:
    policy = RegionPolicy(
        surplus_cost=0.0,
        move_cost_in_use=1.0,
        daily_churn_share=0.3,
        solve_churn_share=0.3,
        reservation_churn_share=1.0,
    )
    snapshot = one_full_rack(in_use=True, policy=policy)
    free = plan_target_bindings(snapshot)
    assert free.report.phases[0].moved_in_use == 2
    bounded = replace(snapshot, churned=np.zeros(1, np.int64))
    found = plan_target_bindings(bounded)
    assert churn_budget(bounded).region == 1
    assert counted_preemptions(bounded, found.plan.target).tolist() == [1]
    assert found.report.phases[0].moved_in_use == 1
    assert found.report.churn.planned.tolist() == [1]


def test_a_reservation_whose_servers_retire_waits() -> None:
    snapshot = one_full_rack()
    leaving = np.zeros(8, bool)
    leaving[0] = True
    snapshot = replace(snapshot, servers=replace(snapshot.servers, leaving=leaving))
    assert refined(snapshot, present(snapshot))[1] is None or worst(snapshot, present(snapshot))[0].size == 0
    assert worst(snapshot, present(snapshot))[1] == 1


def test_without_time_or_after_a_cancellation_the_plan_of_the_first_phase_stands() -> None:
    snapshot = one_full_rack()
    for clock, why in ((Clock(until=0.0), "time"), (Clock(cancelled=lambda: True), "cancelled")):
        answer, report = refined(snapshot, present(snapshot), clock=clock)
        assert np.array_equal(answer, present(snapshot))
        assert (report.stopped_by, report.reservations, report.waiting) == (why, (), 1)


def test_the_worst_come_first_and_large_ones_are_solved_one_after_the_other(monkeypatch) -> None:
    snapshot = random_region(np.random.default_rng(3), 300, 10, msbs=6, types=3)
    tight = np.array([0.05] * 6 + [np.inf] * 4)
    snapshot = replace(snapshot, policy=ALL, reservations=replace(snapshot.reservations, rack_spread_limit=tight))
    target = present(snapshot)
    chosen, _ = worst(snapshot, target)
    above = above_rack_limit(snapshot, target)[chosen]
    assert len(chosen) == 6
    assert (np.diff(above) <= 0).all()
    together = refined(snapshot, target, limits=Limits())[1]
    monkeypatch.setattr(refine, "COUNTS_MAX", 40)
    parts = list(batches(snapshot, chosen))
    assert len(parts) > 1
    assert np.concatenate(parts).tolist() == chosen.tolist()
    apart = refined(snapshot, target, limits=Limits())[1]
    assert apart.counts < together.counts
    assert apart.after < apart.before
    assert apart.reservations == together.reservations


def test_the_same_region_gives_the_same_answer() -> None:
    snapshot = replace(random_region(np.random.default_rng(7), 200, 8, msbs=4, types=2), policy=ALL)
    first, again = (refined(snapshot, present(snapshot), limits=Limits())[0] for _ in range(2))
    assert np.array_equal(first, again)


def test_few_reservations_see_no_server_of_others_and_decided_departures_as_free() -> None:
    snapshot = region(
        msb_datacenter=(0,), racks_per_msb=1, servers=[(0, 0, 0), (0, 0, 1), (0, 0, 1), (0, 0, 2)], capacity=[1, 1, 1]
    )
    plan = np.array([0, 1, FREE, 2], np.int32)
    few = FewReservations.of(snapshot, plan, np.array([2, 0]))
    assert few.rows.tolist() == [0, 2, 3]
    assert few.planned.tolist() == [0, FREE, 1]
    assert few.snapshot.servers.target.tolist() == [0, FREE, 1]
    assert few.snapshot.servers.current.tolist() == [0, DELETED, 1], "it draws its power in full until it has left"
    assert few.snapshot.reservations.name.tolist() == ["r0", "r2"]
    assert few.in_whole(plan, np.array([FREE, 1, 1], np.int32)).tolist() == [FREE, 1, 2, 2]


def test_no_tree_raises_the_bound_of_a_model_of_racks(monkeypatch) -> None:
    asked = []
    solve = refine.solve

    def heard(problem, limits, **named):
        asked.append(limits.whole_bound)
        return solve(problem, limits, **named)

    monkeypatch.setattr(refine, "solve", heard)
    refined(snapshot := one_full_rack(), present(snapshot))
    assert asked == [False]
