"""An excess over bent limits has a price, prices follow the excess, and no answer exceeds a limit."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.program import Program, compile_problem
from libs.assignment.incremental.tables import OVER, OVER_CHANGE, OVER_MAX, OVER_ROWS
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.solvers.local.move_frequencies import Mix, usable_kinds
from libs.assignment.solvers.local.soft_limits import FALL, RISE, Bent
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.local.walk import Walk
from libs.assignment.solvers.settings import SearchLimits

TOLERANCE = np.full(2, 1e-9)


def full_house(seed: int = 4) -> Problem:
    """Return sixty objects of many sizes that fill six containers to 99 %, each costlier in some than in others."""
    rng = np.random.default_rng(seed)
    sizes, where = rng.integers(5, 40, size=60).astype(float), np.arange(60) % 6
    held = np.bincount(where, weights=sizes, minlength=6)
    problem = Problem(objects=60, containers=6, initial=where)
    problem.add_dimension("cpu", sizes, containers=held + 2)
    dear = rng.uniform(0, 10, size=(60, 6))
    problem.add_dimension("dear", -1.0, by_item=("container", np.arange(60), dear), signed=True)
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(AssignmentAffinitiesSpec(dimension="dear"), normalise=False)
    return problem


def bent_walk(program: Program) -> tuple[Walk, Bent]:
    walk, bent = Walk(program, program.problem.initial, 1), Bent(program, 5.0)
    bent.bend(walk.state, falling=False)
    return walk, bent


def test_what_is_over_costs_its_price_and_is_kept_count_of() -> None:
    problem = full_house()
    program = compile_problem(problem, to_search=True)
    walk, bent = bent_walk(program)
    shares = Mix(usable_kinds(program, proposals=False)).shares
    walk.anneal(1, 50.0, 40.0, 20_000, TOLERANCE, shares)
    (over,), (price,) = bent.excess(walk.state), bent.prices
    cpu = problem.dimensions["cpu"]
    held = np.bincount(walk.assignment, weights=cpu.objects, minlength=6)
    assert over.ravel() == pytest.approx(np.maximum(held - cpu.capacities["container"], 0), abs=1e-6)
    assert over.any()
    assert walk.state.part[4 + OVER] == pytest.approx(float((over * price).sum()))
    whole = program.state(walk.assignment.copy())
    assert walk.value == pytest.approx(whole.part[:2])
    assert walk.state.part[4 + OVER_ROWS] == np.count_nonzero(over)


def test_the_best_is_kept_while_limits_bend_and_is_never_over_them() -> None:
    problem = full_house()
    program = compile_problem(problem, to_search=True)
    walk, bent = bent_walk(program)
    shares = Mix(usable_kinds(program, proposals=False)).shares
    cpu, first, times_over = problem.dimensions["cpu"], walk.best_value[1], 0
    for k in range(30):
        bent.bend(walk.state, falling=False)
        walk.anneal(1, 5.0 * 0.9**k, 4.5 * 0.9**k, 5_000, TOLERANCE, shares)
        held = np.bincount(walk.best, weights=cpu.objects, minlength=6)
        assert (held <= cpu.capacities["container"] + 1e-6).all()
        assert walk.best_value == pytest.approx(program.state(walk.best.copy()).part[:2])
        times_over += bool(walk.state.part[4 + OVER_ROWS])
    assert walk.best_value[1] < first - 20
    assert times_over > 3


def test_what_is_too_dear_is_forbidden_whatever_it_brings_back() -> None:
    program = compile_problem(full_house(), to_search=True)
    where = np.where(np.arange(60) < 40, 0, 1)  # both exceed their limits by far
    state, bent = program.state(where), Bent(program, 5.0)
    bent.prices[0][0] *= 50
    bent.bend(state, falling=False)
    one, away = np.array([3]), np.array([1])
    assert not try_moves(program.tables, state, one, away, False)
    state.part[4 + OVER_MAX] = 1e3
    assert try_moves(program.tables, state, one, away, False)
    assert state.part[4 + OVER_CHANGE] < 0


def test_prices_rise_where_limits_are_exceeded_and_fall_elsewhere() -> None:
    program = compile_problem(full_house(), to_search=True)
    walk, bent = bent_walk(program)
    first = bent.prices[0].copy()
    state = program.state(np.zeros(60, dtype=np.int64))
    bent.bend(state, falling=True)
    assert bent.prices[0][0] == pytest.approx(RISE * first[0])
    assert bent.prices[0][1:] == pytest.approx(FALL * first[1:])
    bent.bend(state, falling=False)
    assert bent.prices[0][1:] == pytest.approx(FALL * first[1:])
    assert state.part[4 + OVER_MAX] > 0
    walk.recompute()
    assert walk.state.part[4 + OVER_MAX] == 0  # hard again


@pytest.mark.parametrize("threads", [1, 2])
def test_full_containers_are_searched_and_no_limit_is_exceeded(threads: int) -> None:
    """Few changes fit: a descent over moves and swaps ends far above the result of bent limits."""
    problem = full_house()
    result = solve_local(problem, SearchLimits(tries_max=400_000, threads=threads))
    cpu = problem.dimensions["cpu"]
    held = np.bincount(result.assignment, weights=cpu.objects, minlength=6)
    assert (held <= cpu.capacities["container"] + 1e-6).all()
    assert result.broken == (0.0, 0.0)
    again = solve_local(problem, SearchLimits(tries_max=400_000, threads=threads))
    assert (again.assignment == result.assignment).all()
