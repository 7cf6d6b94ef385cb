"""Objects that hard constraints keep in place are never drawn or swept."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.incremental.immovable import movable_objects
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.non_accepting import NonAcceptingSpec
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.moves.kernighan_lin import members_of
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.settings import SearchLimits


def movable(problem: Problem, begin: list[int] | None = None) -> list[int]:
    begin_at = problem.initial if begin is None else np.array(begin)
    return movable_objects(compile_problem(problem).graph, problem.initial, begin_at).tolist()


def test_fifty_new_objects_among_a_hundred_thousand_pinned_are_placed_in_few_tries() -> None:
    """Ten containers with room for five more each, and one in which new objects wait."""
    pinned, new = 100_000, 50
    initial = np.concatenate([np.arange(pinned) % 10, np.full(new, 10)])
    problem = Problem(objects=pinned + new, containers=11, initial=initial)
    problem.add_constraint(AvoidMovingSpec(objects=range(pinned)))
    room = Limit(items=np.array([10_005.0] * 10 + [50.0]))
    problem.add_constraint(CapacitySpec(dimension="count", limit=room))
    problem.add_goal(MaximizeAllocationSpec(dimension="count", filter=Filter(items=range(10))), normalise=False)
    result = solve_local(problem, SearchLimits(tries_max=2_000))
    assert result.moved == new
    assert result.objective[1][0] == -pinned - new
    assert (result.assignment[:pinned] == initial[:pinned]).all()
    assert result.tries <= 2_100


def test_nothing_that_may_move_is_an_answer_at_once() -> None:
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_constraint(AvoidMovingSpec(objects=range(3)))
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)))
    result = solve_local(problem, SearchLimits(tries_max=1_000_000_000))
    assert (result.tries, result.stopped_by, result.moved) == (0, StoppedBy.OPTIMAL, 0)


def test_who_may_move_is_read_from_flavours_and_not_from_specs() -> None:
    """An object may move if a single container remains for it, however the others are forbidden."""
    problem = Problem(objects=4, containers=3, initial=[0, 0, 1, 2])
    problem.add_dimension("cpu", [1, 5, 2, 1], containers=[9, 4, 4])
    assert movable(problem) == [0, 1, 2, 3]
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    assert movable(problem) == [0, 2, 3]  # no other object holds 5
    problem.add_constraint(AvoidAssignmentsSpec(name="one", assignments=[(0, [1, 2])]))
    assert movable(problem) == [2, 3]
    problem.add_constraint(AvoidAssignmentsSpec(name="two", assignments=[(2, [0])], flavour=Flavour.NEW))
    assert movable(problem) == [2, 3]  # container 2 remains
    problem.add_constraint(AvoidAssignmentsSpec(name="three", assignments=[(3, [0, 1, 2])], flavour=Flavour.NEW))
    assert movable(problem) == [2]  # may stay, may not go


def test_containers_that_accept_nothing_keep_what_could_go_nowhere_else() -> None:
    problem = Problem(objects=3, containers=3, initial=[0, 1, 2])
    problem.add_constraint(NonAcceptingSpec(items=[0, 1]))
    assert movable(problem) == [0, 1]  # into 2; objects in it may go nowhere


def test_items_of_several_containers_let_objects_move_within() -> None:
    problem = Problem(objects=3, containers=3, initial=[0, 1, 2])
    problem.add_scope("rack", [0, 0, 1])
    problem.add_constraint(NonAcceptingSpec(scope="rack", items=[0, 1]))
    assert movable(problem) == [0, 1]


@pytest.mark.parametrize("hard", [True, False])
def test_soft_constraints_keep_nothing(hard: bool) -> None:
    problem = Problem(objects=3, containers=2, initial=[0, 0, 1])
    problem.add_constraint(AvoidMovingSpec(objects=[0, 2]), hard=hard)
    assert movable(problem) == ([1] if hard else [0, 1, 2])


def test_what_is_broken_at_the_start_keeps_nothing() -> None:
    """Object 1 is away from home against the rule. It may go back, and others may swap with it."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 1])
    problem.add_constraint(AvoidMovingSpec(objects=[0, 1]))
    assert movable(problem) == [2]
    assert movable(problem, begin=[0, 1, 1]) == [0, 1, 2]


def test_lists_of_members_hold_those_that_may_move() -> None:
    where = np.array([2, 0, 2, 2, 0, 1])
    lists = members_of(where, np.array([0, 1, 3, 5]), 4)
    found = []
    for first in lists.first.tolist():
        found.append([])
        while first >= 0:
            found[-1].append(first)
            first = int(lists.after[first])
    assert found == [[1], [5], [0, 3], []]
    assert lists.before[3] == 0
