"""Check the joint search of priorities, its bounds, and the breaking of ties."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.assignment import Bound, CapacitySpec, Filter, Limit, Limits, MaximizeAllocationSpec, Problem, solve
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio import joint_columns, relaxing, solver
from libs.assignment.solvers.portfolio.joint import Joint, search_together
from libs.assignment.solvers.portfolio.relaxation import quiet_columns, relax, without_quiet
from libs.assignment.solvers.portfolio.relaxation_by_container import AVOIDABLE
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.watch import Clock
from libs.assignment.solvers.portfolio.whole_bound import Whole
from libs.assignment.solvers.settings import PortfolioLimits
from tests.libs.assignment.solvers.portfolio.test_solver import PARTIES, world

SEARCHED = Limits(exact_columns_max=0)


def ordered(seed: int, objects: int = 90, *, wanted: float = 1.0) -> Problem:
    """Return the world with the shortfall of its parties as the first priority, which want `wanted` times as much."""
    problem = world(seed, objects)
    first, *others = problem.goals
    stated = Problem(objects=objects, containers=PARTIES + 1, initial=problem.initial)
    stated.scopes, stated.partitions, stated.dimensions = problem.scopes, problem.partitions, problem.dimensions
    stated.constraints = problem.constraints
    assert isinstance(first.spec, SingleGroupFailureBufferSpec)
    limit = Limit(items=np.round(wanted * np.asarray(first.spec.limit.items), 1))
    stated.add_goal(replace(first.spec, limit=limit), weight=first.weight, priority=0, normalise=False)
    for goal in others:
        stated.add_goal(goal.spec, weight=goal.weight, priority=1, normalise=False)
    return stated


@pytest.mark.parametrize("seed", range(4))
def test_priorities_come_close_to_the_exact_answer_and_bounds_hold(seed: int) -> None:
    problem = ordered(seed)
    exact = solve(problem, Limits(nodes_max=2_000), solver="mip")
    found = solve(problem, SEARCHED, solver="portfolio", seed=seed)
    (first, last), (least, best) = found.objective[1], exact.objective[1]
    assert first <= least + 0.02 * max(1.0, least)
    assert last <= 1.05 * best + 0.5
    assert found.bound[1] <= least + 1e-6
    if first <= least + 1e-6:
        assert found.bound[2] <= best + 1e-6


def test_a_level_above_is_never_given_up_for_one_below() -> None:
    problem = ordered(7)
    before = problem.goals[1].weight
    for weight in (before, 1e6 * before):
        problem.goals[1] = problem.goals[1].__class__(
            **{**{k: getattr(problem.goals[1], k) for k in ("spec", "cost", "scale", "priority")}, "weight": weight}
        )
        found = solve(problem, SEARCHED, solver="portfolio")
        assert found.objective[1][0] <= found.objective[0][0] + 1e-6
        exact = solve(problem, Limits(nodes_max=500), solver="mip")
        assert found.objective[1][0] <= 1.1 * exact.objective[1][0] + 0.5


def test_the_search_of_all_settles_the_last_level_alone() -> None:
    lowered = lower(ordered(3))
    joint = search_together(
        lowered, 0.0, lowered.held, PortfolioLimits(exact_columns_max=0), 0, Clock(600.0), lambda _: None, ThreadPool()
    )
    assert joint is not None
    assert joint.goals == [1, 2]
    assert joint.settles(2, joint.counts)
    assert not joint.settles(1, joint.counts)
    assert not joint.settles(2, lowered.held)
    values = lowered.values(lowered.point_of(joint.counts))
    fractions = replace(joint, whole=None).bound_of_last(values)
    assert fractions == pytest.approx(joint.bound - values[1])
    assert fractions < joint.bound_of_last(values) <= values[2] + 1e-4
    assert joint.bound_of_last(values) <= values[2] + 1e-6
    short = replace(joint, whole=None, by_columns=True, relaxation=replace(joint.relaxation, timed_out=True))
    first = lowered.at(1, [0.0])
    assert short.raised(first, joint.counts) is short, "the search has more use for what is left of the time"
    assert replace(short, by_columns=False).raised(first, joint.counts).whole is not None


def half_an_object_off(seed: int) -> Problem:
    """Return the world in which one party has half an object too many or too few: that costs 5 in whole objects."""
    problem = ordered(seed)
    problem.add_dimension("one", 1.0)
    for bound in (Bound.MIN, Bound.MAX):
        problem.add_goal(
            CapacitySpec(dimension="one", limit=Limit(default=14.5), bound=bound, filter=Filter(items=[1])),
            weight=10.0,
            priority=0,
            normalise=False,
        )
    return problem


@pytest.mark.parametrize("seed", range(3))
def test_a_first_priority_that_no_relaxation_proves_takes_no_second_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The relaxation sees no cost, and no answer is without it. Whole objects prove that."""
    problem, relaxed = half_an_object_off(seed), []
    monkeypatch.setattr(relaxing, "relax", lambda *given, **named: relaxed.append(1) or relax(*given, **named))
    found = solve(problem, SEARCHED, solver="portfolio", seed=seed)
    (first, last), (least, bound_of_last) = found.objective[1], found.bound[1:]
    assert (first, least) == (pytest.approx(5.0), pytest.approx(5.0, abs=1e-4))
    assert len(relaxed) == 1, "it began beside mending"
    assert 0.75 * last <= bound_of_last <= last


def test_the_first_priority_is_bounded_in_whole_objects_before_the_last() -> None:
    lowered, told = lower(half_an_object_off(0)), list[Joint]()
    search_together(
        lowered, 0.0, lowered.held, PortfolioLimits(exact_columns_max=0), 0, Clock(600.0), told.append, ThreadPool()
    )
    first = next(joint for joint in told if joint.first is not None)
    assert first.first is not None
    assert first.first.bound == pytest.approx(5.0, abs=1e-4)
    assert first.first.gained == pytest.approx([0.0, 5.0, *[0.0] * (PARTIES - 1)], abs=1e-4)
    assert first.whole is None


def test_a_small_gap_is_for_the_last_goal_and_hardly_for_the_first() -> None:
    lowered = lower(half_an_object_off(0))
    joint = search_together(
        lowered, 0.0, lowered.held, PortfolioLimits(exact_columns_max=0), 0, Clock(600.0), lambda _: None, ThreadPool()
    )
    assert joint is not None
    _, first, last = lowered.values(lowered.point_of(joint.counts))
    assert first == pytest.approx(5.0, abs=1e-4)

    def proves(first_bound: float, last_bound: float, gap: float) -> bool:
        bounded = Whole(first_bound, np.zeros(PARTIES + 1))
        return replace(joint, first=bounded, bound=last_bound + first, last=None, whole=None).proves(joint.counts, gap)

    assert proves(first, last, 0.0)
    assert proves(first, 0.992 * last, 0.01)
    assert not proves(first, 0.992 * last, 0.005)
    assert proves(first * (1.0 - 0.5 * AVOIDABLE), last, 0.01)
    assert not proves(first * (1.0 - 2.0 * AVOIDABLE), last, 0.01), "a promise is no part of a gap"
    assert not proves(0.0, last, 0.01)


def test_what_the_first_priority_must_cost_bounds_the_last_one_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """No container may save a cost of the last priority by a shortfall that another one would have to make good."""
    monkeypatch.setattr(joint_columns, "SCARCE", math.inf)  # they would bound it better than both
    lowered, pool = lower(ordered(0, wanted=1.6)), ThreadPool()
    limits = PortfolioLimits(exact_columns_max=0, stall=8)  # a longer search finds too good an answer
    joint = search_together(lowered, 0.0, lowered.held, limits, 0, Clock(600.0), lambda _: None, pool)
    assert joint is not None
    assert joint.first is not None
    assert joint.whole is not None
    values, first = lowered.values(lowered.point_of(joint.counts)), lowered.at(1, [0.0])
    free = replace(joint, first=None, whole=None).raised(first, joint.counts)
    assert joint.bound_of_last(values) > free.bound_of_last(values) + 1.0
    dear = (values[0], values[1] + 0.5, values[2])
    fractions = replace(joint, whole=None)
    assert joint.bound_of_last(dear) == fractions.bound_of_last(dear), (
        "answers with a dearer first priority may pay more"
    )


def test_a_priority_is_still_proven_if_the_search_of_all_takes_longer_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(lowered: Any, most: Any, counts: Any, limits: Any, seed: Any, watch: Any, *others: Any) -> Any:
        joint = search_together(lowered, most, counts, limits, seed, watch, *others)
        watch._until = -math.inf
        return joint

    monkeypatch.setattr(solver, "search_together", late)
    found = solve(half_an_object_off(0), SEARCHED, solver="portfolio")
    assert found.bound[1] == pytest.approx(5.0, abs=1e-4)


def test_small_problems_are_solved_level_by_level() -> None:
    lowered = lower(ordered(3))
    assert (
        search_together(lowered, 0.0, lowered.held, PortfolioLimits(), 0, Clock(600.0), lambda _: None, ThreadPool())
        is None
    )


def tied(seed: int) -> Problem:
    """Return the world with a tiny reward for every object without a party."""
    problem = world(seed)
    left = MaximizeAllocationSpec(name="left", filter=Filter(items=[PARTIES]))
    problem.add_goal(left, weight=1e-5, normalise=False)
    return problem


@pytest.mark.parametrize("seed", range(3))
def test_costs_that_break_ties_are_left_out_of_the_relaxation_and_its_bound_holds(seed: int) -> None:
    lowered = lower(tied(seed))
    model = lowered.at(1, (0.0,))
    plain = without_quiet(model, quiet_columns(model.cost))
    quiet = model.cost != plain.cost
    assert quiet.any()
    assert (np.abs(model.cost[quiet]) <= 1e-4).all()
    assert relax(lowered, plain).bound <= relax(lowered, model).bound + 1e-6
    point = lowered.point_of(lowered.held)
    assert plain.objective(point) <= model.objective(point) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_of_answers_as_good_the_one_that_breaks_ties_well_is_found(seed: int) -> None:
    problem = tied(seed)
    found = solve(problem, SEARCHED, solver="portfolio", seed=seed).assignment
    lowered = lower(problem)
    cost = lowered.levels[1]
    model = lowered.at(1, (0.0,))
    for one in np.flatnonzero((found != problem.initial) & (found != PARTIES)):
        other = found.copy()
        other[one] = PARTIES
        saved = cost.cost @ (lowered.point(found) - lowered.point(other))
        assert saved <= 1e-9 or model.violation(lowered.point(other)) > 1e-9


def test_the_size_of_the_program_is_told() -> None:
    problem = ordered(1)
    size, lowered = solve(problem, SEARCHED, solver="portfolio").size, lower(problem)
    assert size is not None
    assert (size.counts, size.columns) == (len(lowered.kind), len(lowered.model.cost))
    assert solve(problem, Limits(tries_max=100), solver="local").size is None


def test_all_goals_are_searched_together_after_the_time_for_broken_constraints_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone, together = solver._Run.solve, []

    def takes_all_its_time(run: Any, level: int) -> None:
        alone(run, level)
        if level == 0:
            run._until = -math.inf

    monkeypatch.setattr(solver._Run, "solve", takes_all_its_time)
    monkeypatch.setattr(
        solver, "search_together", lambda *given: together.append(found := search_together(*given)) or found
    )
    found = solve(ordered(3), replace(SEARCHED, time_s_max=600.0), solver="portfolio")
    assert len(together) == 1
    assert found.bound[2] > 0
