"""Repeat each finding of the fuzzer on a problem small enough to solve by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz.own import OwnSpec
from libs.assignment import Limits, solve
from libs.assignment.language.errors import BadValues
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.drain_capacity import DrainCapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import CountBound, GroupCountSpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.logical_or import LogicalOrSpec
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_bins import MinimizeBinsSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.language.specs.to_free import ToFreeFormula, ToFreeSpec
from libs.assignment.report.explain.explainer import Explainer
from libs.assignment.solvers.auto import solve_auto
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.settings import MipLimits, Partitioning, SearchLimits

FEW = SearchLimits(tries_max=200)
IN_TWO = Partitioning(parts=2, insist=True)


def test_a_step_that_can_only_be_one_thing_beside_a_limit() -> None:
    problem = Problem(objects=2, containers=4, initial=[3, 3])
    problem.add_dimension("cpu", [9.0, 14.0], containers=[20.0, 0.0, 35.0, 0.0])
    problem.add_dimension("debt", [-2.0, 1.0], signed=True)
    problem.add_goal(MinimizeBinsSpec(dimension="debt"), normalise=False)
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    result = solve_mip(problem)
    assert (result.broken[1], result.objective[1]) == (0.0, (0.0,))
    free = Problem(objects=2, containers=3, initial=[0, 0])
    free.add_dimension("cpu", [1.0, 3.0], containers=[3.0, 5.0, 4.0])
    free.add_constraint(ToFreeSpec(items=[1], formula=ToFreeFormula.OCCUPIED))
    free.add_constraint(CapacitySpec(dimension="cpu"))
    assert solve_portfolio(free).broken == (1.0, 0.0)
    assert solve_mip(free).broken == (1.0, 0.0)


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio])
def test_two_alike_change_places_where_moving_is_a_gain(solve) -> None:
    problem = Problem(objects=2, containers=3, initial=[0, 2])
    problem.add_dimension("debt", [-2.0, -1.0], signed=True)
    problem.add_goal(MinimizeMovementSpec(dimension="debt"), normalise=False)
    result = solve(problem)
    assert result.objective[1] == (-3.0,)
    assert result.stopped_by is StoppedBy.OPTIMAL


def test_a_group_that_must_be_new_twice_where_one_is() -> None:
    problem = Problem(objects=3, containers=2, initial=[1, 0, 0])
    problem.add_scope("rack", [0, -1], 2)
    problem.add_overlapping_partition("team", np.arange(3), np.zeros(3, int), 2)
    problem.add_dimension("cpu", [2.0, 2.0, 2.0], containers=[5.0, 0.0])
    problem.add_dimension("memory", [4.0, 4.0, 4.0])
    closed = NonAcceptingSpec(items=[0, 1], scope="rack", dimension="memory")
    drained = DrainCapacitySpec(dimension="cpu", scope="rack", spill={1: {0: 1.0}})
    problem.add_constraint(LogicalOrSpec(specs=[closed, drained]))
    new = GroupCountSpec(
        partition="team",
        scope="container",
        bound=CountBound.EXACT,
        limit=Limit(default=0.0, groups=[1.0, 1.0]),
        flavour=Flavour.NEW,
        filter=Filter(items=[0]),
    )
    problem.add_constraint(new, hard=False)
    assert solve_mip(problem).broken[1] == 1.0


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio, solve_local])
@pytest.mark.parametrize(("flavour", "start"), [(Flavour.STAYED, 4.0), (Flavour.ANY, 4.0)])
def test_who_stays_in_an_item_counts_by_the_container(solve, flavour, start) -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    problem.add_scope("rack", [0, 0], 1)
    problem.add_dimension("like", [1.0], by_item=("container", [0], [[5.0, 1.0]]))
    problem.add_goal(CapacitySpec(dimension="like", scope="rack", limit=Limit(), flavour=flavour), normalise=False)
    result = solve(problem) if solve is not solve_local else solve(problem, FEW)
    assert result.objective == ((start,), (0.0,))
    assert result.assignment.tolist() == [1]


def test_parts_where_a_step_can_only_be_one_thing() -> None:
    problem = Problem(objects=2, containers=2, initial=[1, 1])
    problem.add_overlapping_partition("job", np.array([0, 1]), np.array([0, 0]), 1)
    least = CapacitySpec(dimension="count", bound=Bound.MIN, zero_allowed=True, limit=Limit(), flavour=Flavour.INITIAL)
    problem.add_goal(least, normalise=False)
    problem.add_constraint(GroupCountSpec(partition="job"))
    result = solve_partitioned(problem, FEW, options=IN_TWO)
    assert result.broken == (1.0, 0.0)


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio])
def test_an_item_that_is_occupied_may_hold_more(solve) -> None:
    problem = Problem(objects=2, containers=2, initial=[1, 0])
    problem.add_constraint(ToFreeSpec(items=[1, 0], formula=ToFreeFormula.OCCUPIED))
    assert solve(problem).broken == (2.0, 1.0)


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio])
def test_a_root_that_is_wanted_large_is_finite_at_nothing(solve) -> None:
    problem = Problem(objects=2, containers=4, initial=[3, 3])
    problem.add_dimension("cpu", [2.0, 3.0], containers=[4.0, 2.0, 2.0, 2.0])
    problem.add_goal(OwnSpec(shape="root", dimension="cpu", sign=-1.0), normalise=False)
    result = solve(problem)
    assert result.objective[1][0] == pytest.approx(-(2**0.5) - 3**0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("solve", "least"), [(solve_local, SearchLimits(tries_max=1)), (solve_mip, MipLimits(nodes_max=0))]
)
def test_a_start_that_a_hard_constraint_forbids_or_that_is_worse_is_not_begun_from(solve, least) -> None:
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(items=[1.0, 0.0])))
    problem.add_goal(MaximizeAllocationSpec(filter=Filter(items=[1])))
    assert solve(problem, least, start=np.array([0, 0, 1])).assignment.tolist() == [0, 0, 0]
    free = Problem(objects=2, containers=2, initial=[0, 1])
    free.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.SQUARES))
    assert solve(free, least, start=np.array([0, 0])).objective[1] == (0.0,)
    for wrong in ([0, 2], [0], [0.5, 1.0]):
        with pytest.raises(BadValues, match="start"):
            solve(free, least, start=np.array(wrong))


@pytest.mark.parametrize("solve", [solve_local, solve_mip, solve_portfolio, solve_price, solve_auto, solve_partitioned])
@pytest.mark.parametrize("by", [2.0**-30, 2.0**-100])
def test_what_all_weights_of_a_level_are_multiplied_by_changes_nothing(solve, by) -> None:
    def solved(weight):
        problem = Problem(objects=6, containers=4, initial=[3] * 6)
        problem.add_dimension("cpu", [3.0, 2.0, 2.0, 1.0, 1.0, 4.0], containers=[4.0, 3.0, 3.0, 0.0])
        placed = Filter(but=[3])
        problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
        problem.add_goal(MaximizeAllocationSpec(dimension="cpu", filter=placed), weight=weight, normalise=False)
        problem.add_goal(BalanceSpec(dimension="cpu", filter=placed), weight=weight, priority=1, normalise=False)
        limits = SearchLimits(tries_max=3000) if solve in (solve_local, solve_partitioned) else None
        return solve(problem, Limits(tries_max=3000) if solve is solve_auto else limits)

    usual, small = solved(1.0), solved(by)
    assert small.assignment.tolist() == usual.assignment.tolist()
    assert small.objective[1] == tuple(by * one for one in usual.objective[1])
    assert small.bound[1:] == pytest.approx(tuple(by * one for one in usual.bound[1:]), rel=1e-6, abs=0.0)
    assert small.timeline[-1].objective[1:] == small.objective[1]
    assert usual.objective[1][0] < 0


def test_while_limits_bend_nothing_else_is_broken() -> None:
    for seed in range(4):
        problem = Problem(objects=3, containers=4, initial=[3, 3, 3])
        placed = Filter(but=[3])
        problem.add_dimension("cpu", [0.0, 1.0, 1.0], containers=[0.0, 7.0, 0.0, 0.0])
        problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
        problem.add_constraint(AvoidMovingSpec(objects=[0]), hard=False)
        problem.add_goal(MaximizeAllocationSpec(filter=placed), normalise=False)
        result = solve_local(problem, SearchLimits(tries_max=600), seed=seed)
        assert result.broken == (0.0, 0.0)
        assert result.objective[1] == (-2.0,)


def test_prices_report_what_is_broken_by_little() -> None:
    problem = Problem(objects=3, containers=3, initial=[0, 0, 0])
    problem.add_dimension("cpu", [0.0, 0.0, 1.0], containers=[1.0, 1.0, 0.0])
    problem.add_dimension("memory", [3e-9, 2e-9, 3e-9], containers=[7.2e-9, 0.0, 0.0])
    for dimension in ("cpu", "memory"):
        problem.add_constraint(CapacitySpec(dimension=dimension, filter=Filter(but=[2])))
    problem.add_goal(MaximizeAllocationSpec(), normalise=False)
    assert solve(problem, solver="price").broken[0] == pytest.approx(0.8e-9)


def test_a_term_that_does_not_change_hides_no_other() -> None:
    problem = Problem(objects=1, containers=2, initial=[0])
    problem.add_dimension("memory", [0.003], containers=[0.0, 0.0])
    problem.add_dimension("debt", [-2e-09], signed=True)
    problem.add_goal(MinimizeMovementSpec(dimension="memory"), normalise=False)
    problem.add_goal(BalanceSpec(dimension="debt"))
    assert Explainer(problem).move(0, 1).verdict == 1


@pytest.mark.parametrize("solver", ["mip", "portfolio", "auto"])
def test_one_is_no_multiple_of_a_thousand_million(solver) -> None:
    """max(0, 1 - 3e9 n) has two values. 2 [x > 0] - max(0, x), with x = 1 - 2.25e9 n, is 1 at n = 0."""
    squares = Problem(objects=1, containers=2, initial=[0])
    squares.add_overlapping_partition("team", [0], [0], 1)
    squares.add_dimension("cpu", [3e9])
    few = GroupCountSpec(partition="team", dimension="cpu", bound=CountBound.MIN, squares=True)
    squares.add_goal(few, normalise=False)
    assert solve(squares, solver=solver).objective[1] == (1.0,)
    kinks = Problem(objects=2, containers=3, initial=[1, 0])
    kinks.add_overlapping_partition("job", [0, 1], [0, 0], 1)
    kinks.add_dimension("cpu", [0.0, 2.25e9])
    kinks.add_constraint(ColocateGroupsSpec(partition="job"))
    worth = OwnSpec(shape="kink", dimension="cpu", flavour=Flavour.ANY, a=-1.0, b=1.0, sign=-1.0)
    kinks.add_goal(worth, normalise=False)
    result = solve(kinks, solver=solver)
    assert (result.broken[1], result.objective[1]) == (0.0, (-2.0,))
    assert result.stopped_by is StoppedBy.OPTIMAL


def test_too_little_room_for_too_little_is_a_change_for_the_worse() -> None:
    problem = Problem(objects=1, containers=2, initial=[1])
    problem.add_dimension("cpu", [4e-9], containers=[3.5e-9, 0.0])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=Filter(but=[1])))
    said = Explainer(problem).move(0, 0)
    assert (said.allowed, said.verdict) == (False, 1)


def test_a_limit_that_is_never_reached_loosens_no_other() -> None:
    problem = Problem(objects=1, containers=2, initial=[1])
    problem.add_dimension("cpu", [1.0], containers=[0.0, 6e18])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    assert not Explainer(problem).move(0, 0).allowed


@pytest.mark.parametrize("solve", [solve_local, solve_partitioned])
def test_what_has_nowhere_to_go_from_a_start_may_have_come_from_better(solve) -> None:
    """An object may stay in a container that is too small for it. Once it has left, it may not come back."""
    problem = Problem(objects=3, containers=3, initial=[1, 0, 1])
    problem.add_dimension("cpu", [2.0, 2.0, 2.0], containers=[0.0, 1.0, 0.0])
    placed = Filter(but=[2])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(filter=placed), normalise=False)
    problem.add_constraint(AvoidMovingSpec(objects=[0]), hard=False)
    begun = {"start": [2, 2, 2]} if solve is solve_local else {"options": IN_TWO}
    result = solve(problem, SearchLimits(tries_max=600), seed=1, **begun)
    assert (result.objective[1], result.stopped_by) != ((0.0,), StoppedBy.OPTIMAL)


def test_prices_of_a_market_where_what_they_leave_out_gains_without_end() -> None:
    problem = Problem(objects=1, containers=1, initial=[0])
    problem.add_overlapping_partition("job", [0], [0], 2)
    problem.add_goal(LargestGroupSpec(partition="job"), normalise=False)
    problem.add_goal(MaximizeAllocationSpec(), normalise=False)
    assert solve(problem, solver="price").objective[1] == (0.0,)


@pytest.mark.parametrize("solve", [solve_mip, solve_portfolio])
def test_what_is_as_good_by_a_curve_bounds_what_is_below_it(solve) -> None:
    """(1, 1, 3, 0) balances as well as (3, 2, 1, 0) does and places more; by the pieces of the squares it does not."""
    problem = Problem(objects=4, containers=4, initial=[2, 3, 2, 0])
    problem.add_dimension("cpu", [4.0, 0.0, 1.0, 1.0], containers=[0.0] * 4)
    problem.add_dimension("memory", [4.0, 2.0, 4.0, 1.0], containers=[2.0, 6.0, 2.0, 4.0])
    problem.add_goal(BalanceSpec(dimension="memory", formula=BalanceFormula.SQUARES), normalise=False)
    problem.add_goal(MaximizeAllocationSpec(dimension="cpu", filter=Filter(but=[3])), priority=1)
    result = solve(problem, seed=2)
    assert result.objective[1][0] == pytest.approx(0.0918367, abs=1e-6)
    assert result.bound[2] <= -5 / 6 + 1e-9
