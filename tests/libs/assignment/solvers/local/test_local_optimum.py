"""Local search ends at a local optimum, begins with the largest possible gains, and counts its work."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from libs.assignment.incremental.program import Program, compile_problem
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.to_free import ToFreeSpec
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.hot_spots import container_heat, object_sizes
from libs.assignment.solvers.local.moves.kernighan_lin import MEMBERS_MAX, RUN_MAX, members_of, run_between
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.local.sweeps import Sweeps, Work
from libs.assignment.solvers.local.walk import Walk
from libs.assignment.solvers.settings import SearchLimits

TOLERANCE = np.full(2, 1e-9)


def ten_on_three(weights: list[int]) -> Problem:
    problem = Problem(objects=10, containers=3, initial=[0] * 10)
    problem.add_dimension("cpu", weights, containers=[40, 40, 40])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    return problem


def swept(program: Program, begin: list[int], seed: int = 1) -> Sweeps:
    return Sweeps(program, Walk(program, np.array(begin), seed), 1, TOLERANCE)


@pytest.mark.parametrize("limits", [SearchLimits(tries_max=10**12), SearchLimits(tries_max=None, time_s_max=3600)])
def test_a_small_search_ends_where_no_move_and_no_swap_improves(limits: SearchLimits) -> None:
    problem = ten_on_three([9, 8, 7, 5, 4, 4, 3, 3, 2, 1])
    result = solve_local(problem, limits)
    assert result.stopped_by is StoppedBy.LOCAL
    assert "no move and no swap improves it" in result.in_words()
    assert result.tries < 200_000
    (goal,), best = problem.goals, result.assignment
    value = goal.cost.value(best)[0, 0]
    for o, c in itertools.product(range(10), range(3)):
        moved = best.copy()
        moved[o] = c
        assert goal.cost.value(moved)[0, 0] >= value - 1e-9
    for one, other in itertools.combinations(range(10), 2):
        swapped = best.copy()
        swapped[[one, other]] = best[[other, one]]
        assert goal.cost.value(swapped)[0, 0] >= value - 1e-9


def test_a_search_that_is_cut_short_does_not_claim_to_be_at_the_bottom() -> None:
    result = solve_local(ten_on_three([9, 8, 7, 5, 4, 4, 3, 3, 2, 1]), SearchLimits(tries_max=3_000))
    assert result.stopped_by is StoppedBy.WORK


def test_the_bottom_is_not_where_a_swap_improves() -> None:
    """Containers are full: no single move fits, but a swap gains."""
    problem = Problem(objects=2, containers=2, initial=[0, 1])
    problem.add_dimension("cpu", [5, 4], containers=[5, 5])
    problem.add_dimension("wanted", [1, 0])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(ToFreeSpec(dimension="wanted", items=[0]), normalise=False)
    program = compile_problem(problem, to_search=True)
    sweeps = swept(program, [0, 1])
    sweeps.descend(Work(1_000))
    assert sweeps.walk.assignment.tolist() == [0, 1]
    assert not sweeps.at_bottom(Work(1_000))
    assert sweeps.walk.assignment.tolist() == [1, 0]
    assert sweeps.at_bottom(Work(1_000))
    assert not sweeps.at_bottom(Work(1))  # too little work for a check


def test_what_waits_to_be_placed_is_hottest() -> None:
    problem = Problem(objects=5, containers=3, initial=[0, 1, 2, 2, 0])
    problem.add_goal(MaximizeAllocationSpec(dimension="count", filter=Filter(items=[0, 1])))
    program = compile_problem(problem)
    heat = container_heat(program.graph, program.goals, 1, problem.initial, problem.initial)
    assert heat[2] > heat[0] == heat[1] == 0


def test_what_a_short_item_could_get_is_hot_where_it_is() -> None:
    """A level wants more in container 0, so all objects elsewhere are hot."""
    problem = Problem(objects=5, containers=3, initial=[0, 1, 1, 1, 2])
    problem.add_goal(MaximizeAllocationSpec(dimension="count", filter=Filter(items=[0])), normalise=False)
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)), weight=0.1, normalise=False)
    program = compile_problem(problem)
    heat = container_heat(program.graph, program.goals, 1, problem.initial, problem.initial)
    assert heat == pytest.approx([0.0, 3.2, 1.0])


def test_large_objects_of_a_container_come_first() -> None:
    problem = Problem(objects=4, containers=3, initial=[1, 0, 0, 0])
    problem.add_dimension("cpu", [9, 1, 3, 2])
    problem.add_goal(ToFreeSpec(dimension="count", items=[0]))
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=100)))
    program = compile_problem(problem, to_search=True)
    assert object_sizes(program.graph).argsort().tolist() == [1, 3, 2, 0]
    sweeps = swept(program, [1, 0, 0, 0])
    assert sweeps._order().tolist() == [2, 3, 1, 0]


def test_the_first_improving_container_is_found_in_fewer_tries() -> None:
    """A hundred empty containers are equally good."""
    problem = Problem(objects=40, containers=100, initial=[0] * 40)
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)), normalise=False)
    program = compile_problem(problem, to_search=True)
    tries = []
    for first in (False, True):
        sweeps = swept(program, [0] * 40)
        sweeps.descend(Work(1_000_000), first_improving=first)
        assert sweeps.walk.value[1] == 0
        tries.append(sweeps.walk.tries)
    assert tries[1] < tries[0] / 10
    result = solve_local(problem, SearchLimits(tries_max=10_000, first_improving=True))
    assert result.stopped_by is StoppedBy.OPTIMAL
    assert result.tries < tries[0]


def test_runs_look_at_the_objects_of_their_containers_alone_and_count_them() -> None:
    objects, containers = 5_000, 1_000
    problem = Problem(objects=objects, containers=containers, initial=np.arange(objects) % containers)
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)), normalise=False)
    program = compile_problem(problem)
    state, counts = program.state(problem.initial), np.zeros(3 + MEMBERS_MAX + RUN_MAX, dtype=np.int64)
    lists = members_of(problem.initial, np.arange(objects), containers)
    run_between(program.tables, state, lists, 1, np.array([[3, 7]]), 10, 1, TOLERANCE, counts)
    assert counts.tolist()[:3] == [10, 0, 1]  # five of each are examined, and no move is left
    pairs = np.random.default_rng(1).integers(0, containers, size=(200, 2))
    run_between(program.tables, state, lists, 1, pairs[pairs[:, 0] != pairs[:, 1]], 10**6, 1, TOLERANCE, counts)
    for container in range(containers):
        found, o = [], int(lists.first[container])
        while o >= 0:
            found.append(o)
            o = int(lists.after[o])
        assert sorted(found) == np.flatnonzero(state.whole[:objects] == container).tolist()
