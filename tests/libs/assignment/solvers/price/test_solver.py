"""Price-and-round is always legal, near the best, ordered by priorities, and reproducible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.price.settings import Granularity, PriceSettings
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.settings import SearchLimits
from tests.libs.assignment.markets import broken, gained, placement

KINDS = [dict(zip(("jobs", "labels", "special"), which, strict=True)) for which in itertools.product([0, 1], repeat=3)]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "+".join(k for k in kind if kind[k]) or "plain")


def placed_shares(problem: Problem, assignment: np.ndarray) -> list[float]:
    worth = problem.dimensions["worth"].objects
    on = assignment < len(problem.containers) - 1
    return [float(on[worth == one].mean()) for one in np.unique(worth)]


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_broken_and_the_result_says_what_the_definitions_say(kind: dict[str, bool], seed: int) -> None:
    problem = placement(seed, **kind)
    result = solve_price(problem, seed=seed)
    assert broken(problem, result.assignment) <= 1e-9
    assert result.broken == (0.0, 0.0)
    assert -result.objective[1][0] == pytest.approx(gained(problem, result.assignment))
    assert result.bound[1] <= result.objective[1][0] + 1e-6
    assert result.improved
    assert result.moved == int((result.assignment != problem.initial).sum())


@each_kind
def test_the_gap_to_the_bound_is_small(kind: dict[str, bool]) -> None:
    for seed in range(3):
        result = solve_price(placement(seed, objects=1200, containers=40, **kind), seed=seed)
        assert result.objective[1][0] <= result.bound[1] * 0.96


@each_kind
def test_the_placed_share_never_falls_with_rising_priority_where_asked(kind: dict[str, bool]) -> None:
    for seed in range(4):
        problem = placement(seed, **kind)
        result = solve_price(problem, seed=seed, settings=PriceSettings(rising=True))
        shares = placed_shares(problem, result.assignment)
        assert (np.diff(shares) >= 0).all()


def heavy_on_top(seed: int) -> Problem:
    """Return objects whose size grows with worth: the sum of worths alone would leave out the highest."""
    rng = np.random.default_rng(seed)
    worth = rng.choice([1.0, 2.0, 4.0], size=300)
    problem = Problem(objects=300, containers=21, initial=np.full(300, 20))
    placed = Filter(but=[20])
    problem.add_dimension("r", worth**2 * rng.uniform(0.8, 1.2, 300), containers=np.append(np.full(20, 50.0), 0.0))
    problem.add_constraint(CapacitySpec(dimension="r", filter=placed))
    problem.add_dimension("worth", worth)
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed), normalise=False)
    return problem


@pytest.mark.parametrize("seed", range(3))
def test_shares_rise_even_where_that_costs_and_only_where_asked(seed: int) -> None:
    problem = heavy_on_top(seed)
    rising = solve_price(problem, seed=seed, settings=PriceSettings(rising=True))
    free = solve_price(problem, seed=seed)
    assert (np.diff(placed_shares(problem, rising.assignment)) >= 0).all()
    assert (np.diff(placed_shares(problem, free.assignment)) < 0).any()
    assert free.objective[1][0] < rising.objective[1][0]
    assert broken(problem, rising.assignment) == 0


@each_kind
def test_the_same_seed_gives_the_same_answer(kind: dict[str, bool]) -> None:
    first, again = (solve_price(placement(5, **kind), seed=3) for _ in range(2))
    assert (first.assignment == again.assignment).all()
    assert first.prices is not None
    assert again.prices is not None
    assert (first.prices.price == again.prices.price).all()


def best_of_all(problem: Problem) -> float:
    """Return the best legal value among all assignments, by placed worth."""
    containers, objects = len(problem.containers), len(problem.objects)
    everything = np.array(list(itertools.product(range(containers), repeat=objects)))
    gains = (everything < containers - 1) @ problem.dimensions["worth"].objects
    best = next(a for a in everything[np.argsort(-gains)] if broken(problem, a) <= 1e-9)
    return gained(problem, best)


@each_kind
def test_tiny_ones_against_all_assignments(kind: dict[str, bool]) -> None:
    hit = 0
    for seed in range(5):
        problem = placement(seed, objects=5, containers=2, **kind)
        best = best_of_all(problem)
        result = solve_price(problem, seed=seed)
        assert broken(problem, result.assignment) <= 1e-9
        assert gained(problem, result.assignment) <= best + 1e-9
        assert -result.bound[1] >= best - 1e-9
        assert gained(problem, result.assignment) >= 0.75 * best
        hit += gained(problem, result.assignment) >= best - 1e-9
    assert hit >= 3


def test_what_is_placed_may_be_fixed_and_containers_closed() -> None:
    start = np.full(200, 8)
    start[:30] = np.arange(30) % 8
    problem = placement(1, objects=200, containers=8, jobs=True, over=3.0, initial=start)
    if broken(problem, start):
        pytest.fail("the start of this test is to be legal")
    problem.add_constraint(AvoidMovingSpec(objects=[*range(20), *range(40, 200, 2)]))
    problem.add_constraint(NonAcceptingSpec(items=[0, 3]))
    result = solve_price(problem)
    assert (result.assignment[:20] == start[:20]).all()
    assert (result.assignment[40::2] == 8).all()
    assert (result.assignment[41::2] < 8).any()
    came = result.assignment != start
    assert not np.isin(result.assignment[came], [0, 3]).any()
    assert broken(problem, result.assignment) == 0
    assert result.objective[1][0] < result.objective[0][0]


def test_a_start_that_is_better_is_kept() -> None:
    problem = placement(2, objects=60, containers=3, over=1.2)
    known = solve_price(problem, seed=0)
    again = placement(2, objects=60, containers=3, over=1.2, initial=known.assignment)
    second = solve_price(again, seed=1, settings=PriceSettings(rounds=0, tries=1))
    assert second.objective[1][0] <= second.objective[0][0]
    if not second.improved:
        assert (second.assignment == known.assignment).all()


def test_limits_by_rack_and_of_larger_groups() -> None:
    problem = placement(4)
    problem.add_scope("rack", np.append(np.arange(12) % 4, -1))
    problem.add_partition("tenant", np.arange(400) % 10)
    problem.add_constraint(GroupCountSpec(partition="tenant", scope="rack", limit=Limit(default=5.0)))
    result = solve_price(problem)
    assert result.broken[1] == broken(problem, result.assignment) == 0
    free = solve_price(placement(4))
    assert gained(problem, result.assignment) < gained(problem, free.assignment)


def test_weighed_groups_and_several_rules_at_once() -> None:
    problem = placement(6, jobs=True)
    problem.add_overlapping_partition("tag", np.arange(400).repeat(2), (np.arange(800) * 7) % 20, 20)
    limit = Limit(default=6.0, groups={3: 2.0})
    problem.add_constraint(
        GroupCountSpec(name="tags", partition="tag", dimension="r0", limit=limit, filter=Filter(but=[12]))
    )
    result = solve_price(problem)
    assert result.broken[1] == 0
    assert broken(problem, result.assignment) <= 1e-9


def test_affinities_decide_between_places_that_are_alike() -> None:
    problem = placement(3, over=0.4)
    problem.add_scope("zone", np.append(np.arange(12) // 6, -1))
    liking = np.array([[0.5, 0.0], [0.0, 0.5]])
    problem.add_dimension("liking", 1.0, by_item=("zone", np.arange(400) % 2, liking))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="liking", scope="zone"), normalise=False)
    result = solve_price(problem)
    at_home = (result.assignment // 6 == np.arange(400) % 2)[result.assignment < 12]
    assert at_home.mean() > 0.95
    assert -result.objective[1][0] == pytest.approx(gained(problem, result.assignment))


def test_containers_named_one_by_one_are_still_few_shapes() -> None:
    problem = placement(3, objects=1800, containers=60)
    away = [(list(range(300)), list(range(0, 60, 2))), (list(range(200, 500)), list(range(0, 60, 5)))]
    problem.add_constraint(AvoidAssignmentsSpec(assignments=away))
    result = solve_price(problem)
    assert broken(problem, result.assignment) == 0
    assert result.prices is not None
    assert len(result.prices.pool) <= 3 * 4
    assert result.objective[1][0] <= result.bound[1] * 0.95


def test_objects_without_worth_or_without_a_place_are_left_out() -> None:
    problem = Problem(objects=3, containers=3, initial=[2, 2, 2])
    placed = Filter(but=[2])
    problem.add_dimension("r", [1.0, 9.0, 1.0], containers=[4.0, 4.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="r", filter=placed))
    problem.add_dimension("worth", [0.0, 5.0, 1.0])
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed))
    result = solve_price(problem)
    assert result.assignment[:2].tolist() == [2, 2]
    assert result.assignment[2] < 2


def test_without_any_limit_everything_is_placed() -> None:
    problem = Problem(objects=5, containers=2, initial=[1] * 5)
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(items=[0])))
    result = solve_price(problem)
    assert (result.assignment == 0).all()
    assert result.stopped_by is StoppedBy.OPTIMAL


def test_nothing_to_place_and_nowhere_to_place_it() -> None:
    for objects, room in ((0, 1.0), (4, 0.0)):
        problem = Problem(objects=objects, containers=2, initial=np.ones(objects, dtype=int))
        problem.add_dimension("r", 1.0, containers=[room, 0.0])
        problem.add_constraint(CapacitySpec(dimension="r", filter=Filter(but=[1])))
        problem.add_goal(MaximizeAllocationSpec(filter=Filter(but=[1])))
        result = solve_price(problem)
        assert (result.assignment == 1).all()
        assert not result.improved
        assert result.bound == (0.0, 0.0)


def test_one_price_for_all_containers_also_serves() -> None:
    problem = placement(7, objects=1200, containers=40)
    result = solve_price(problem, settings=PriceSettings(granularity=Granularity.GLOBAL))
    assert result.prices is not None
    assert len(result.prices.price) == 1
    assert broken(problem, result.assignment) == 0
    by_shape = solve_price(problem)
    assert result.objective[1][0] <= by_shape.objective[1][0] * 0.9
    assert result.bound[1] <= by_shape.objective[1][0] + 1e-6


def test_dimensions_that_few_containers_have_are_kept_for_those_who_need_them() -> None:
    problem = Problem(objects=20, containers=5, initial=[4] * 20)
    placed = Filter(but=[4])
    problem.add_dimension("cpu", 1.0, containers=[10.0, 10.0, 11.0, 11.0, 0.0])
    problem.add_dimension("gpu", 0.0, containers=[1.0, 1.0, 0.0, 0.0, 0.0])
    for name in ("cpu", "gpu"):
        problem.add_constraint(CapacitySpec(dimension=name, filter=placed))
    problem.add_goal(MaximizeAllocationSpec(filter=placed))
    there = [int((solve_price(problem, settings=PriceSettings(rent=r)).assignment < 2).sum()) for r in (0.0, 0.05)]
    assert there == [20, 0]


def test_when_time_is_up_what_is_placed_is_legal() -> None:
    problem = placement(9, jobs=True)
    result = solve_price(problem, SearchLimits(time_s_max=1e-9))
    assert result.stopped_by is StoppedBy.TIME
    assert broken(problem, result.assignment) == 0
    assert result.improved


def test_the_timeline_ends_where_the_result_does() -> None:
    result = solve_price(placement(10))
    values = [step.objective[1] for step in result.timeline]
    assert values[-1] == pytest.approx(result.objective[1][0])
    assert len(values) >= 3


def test_containers_that_are_all_closed_and_objects_that_are_all_alike() -> None:
    problem = Problem(objects=90, containers=4, initial=[3] * 90)
    placed = Filter(but=[3])
    problem.add_dimension("r", 1.0, containers=[20.0, 20.0, 20.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="r", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(filter=placed), normalise=False)
    result = solve_price(problem)
    assert result.objective[1][0] == -60.0
    assert result.bound[1] == pytest.approx(-60.0, rel=2e-3)
    problem.add_constraint(NonAcceptingSpec(items=[0, 1, 2]))
    closed = solve_price(problem)
    assert (closed.assignment == 3).all()
    assert closed.bound == (0.0, 0.0)


def test_what_prices_found_is_refined_and_not_melted_down() -> None:
    gaps = []
    for seed in range(3):
        problem = placement(seed, objects=600, containers=20)
        balanced = BalanceSpec(dimension="r0", filter=Filter(but=[len(problem.containers) - 1]))
        problem.add_goal(balanced, weight=10.0, normalise=False)
        result = solve_price(problem, SearchLimits(tries_max=300_000))
        gaps.append(1.0 - result.objective[1][0] / result.bound[1])
    assert np.mean(gaps) <= 0.0125
