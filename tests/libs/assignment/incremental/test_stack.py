"""Cells of the same rows share a stack, and increments equal the full evaluation over a long walk."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from benchmarks.deltas import evaluate_moves, without_limits
from benchmarks.roadef_model import load_roadef
from libs.assignment.graph.bounds import least_levels
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.spec import Spec
from libs.assignment.solvers.local.cooling import Schedule
from libs.assignment.solvers.local.move_frequencies import Mix, usable_kinds
from libs.assignment.solvers.local.walk import Walk
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import random_assignment, small_world


def test_constraints_goals_and_both_ends_of_a_move_share_layers() -> None:
    problem = small_world()
    problem.add_constraint(CapacitySpec(dimension="cpu", flavour=Flavour.DURING_AND_AFTER))
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=1)))
    graph = compile_problem(problem).graph
    assert graph.stacked == len(graph.cells) == 3
    assert [(len(stack.new), len(stack.after)) for stack in graph.stacks] == [(1, 1)]


@pytest.mark.shared
@pytest.mark.parametrize("instance", ["a1_2", "a2_2"])
def test_a_million_changes_of_a_machine_reassignment_are_the_whole(shared: Path, instance: str) -> None:
    """The numbers are whole, so not even a rounding error is allowed (propagation.py marks zero changes by 1e-300)."""
    files = (shared / "data" / "roadef2012" / f"{kind}_{instance}.txt" for kind in ("model", "assignment"))
    program = compile_problem(load_roadef(*files))
    walk = Walk(program, program.problem.initial, 1)
    heat = float(walk.value[1]) * 1e-2
    walk.anneal(1, heat, heat, 1_000_000, np.zeros(2), Mix(usable_kinds(program, proposals=False)).shares)
    assert walk.made > 20_000
    whole = program.state(walk.assignment.copy())
    assert walk.value == pytest.approx(whole.part[:2], abs=1e-200, rel=0)
    assert program.graph.stacked > 8
    for constraint in program.problem.constraints:
        assert all((excess.value(walk.assignment) <= 0).all() for excess in constraint.excess)


def test_a_full_evaluation_forbids_nothing() -> None:
    problem = small_world()
    problem.add_constraint(CapacitySpec(dimension="cpu", limit=Limit(default=1)))
    program = compile_problem(problem)
    state = program.state(problem.initial)
    assert evaluate_moves(program.tables, state, 1_000, 1) < 1_000
    assert evaluate_moves(without_limits(program.tables), state, 1_000, 1) == 1_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_assignment_goes_below_the_bound(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    program = compile_problem(problem)
    for seed in range(100):
        assert program.state(random_assignment(seed)).part[1] >= program.least[1] - 1e-9


@pytest.mark.parametrize(
    ("spec", "least"),
    [
        (CapacitySpec(dimension="cpu", limit=Limit(default=3)), 4.0),
        (CapacitySpec(dimension="cpu", limit=Limit(default=9)), 0.0),
        (BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL), 10.0**2 / 2),
    ],
)
def test_the_bound_is_what_the_best_comes_to_where_objects_can_be_cut(spec: Spec, least: float) -> None:
    problem = Problem(objects=4, containers=2, initial=[0] * 4)
    problem.add_dimension("cpu", [1, 2, 3, 4])
    problem.add_goal(spec, normalise=False)
    program = compile_problem(problem)
    assert least_levels(program.graph, program.goals, program.levels)[1] == pytest.approx(least)
    every = [program.state(np.array(one)).part[1] for one in itertools.product(range(2), repeat=4)]
    assert min(every) == pytest.approx(least)


def test_a_schedule_is_slow_where_the_spread_is_large_for_its_temperature() -> None:
    schedule = Schedule(100.0, 1.0)
    assert schedule.temperature(0.0) == pytest.approx(100)
    assert schedule.temperature(0.5) == pytest.approx(10)
    temperatures = np.array([100.0, 50, 25, 12, 6, 3, 1.5])
    schedule.adapt(temperatures, np.array([1.0, 1, 1, 200, 1, 1, 1]))
    falls = [schedule.temperature(k / 100) for k in range(101)]
    assert falls == sorted(falls, reverse=True)
    assert (falls[0], falls[-1]) == (pytest.approx(100), pytest.approx(1.5))
    assert sum(12 <= t <= 25 for t in falls) > 70


def test_a_schedule_stays_where_nothing_was_measured() -> None:
    schedule = Schedule(1.0, 1.0)
    schedule.adapt(np.ones(5), np.ones(5))
    one_and_rounding = np.array([8 / 9, np.nextafter(8 / 9, 0), 8 / 9, np.nextafter(8 / 9, 0)])
    schedule.adapt(one_and_rounding, np.array([0, 4 / 9, 0, 0]))
    assert schedule.temperature(0.3) == pytest.approx(1)
    schedule = Schedule(10.0, 1.0)
    schedule.adapt(np.geomspace(8, 1, 5), np.zeros(5))
    assert schedule.temperature(0.0) == pytest.approx(10)
