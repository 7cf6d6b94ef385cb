"""Solving in parts gives a legal answer, no worse than the start, and the same in any process."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import BadValues, ModelError
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.settings import Partitioning, SearchLimits
from tests.libs.assignment.crowds import crowd, facilities
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.solvers.partitioned.test_restriction import LINEAR
from tests.libs.assignment.worlds import small_world


def levels(problem: Problem, assignment) -> list[float]:
    program = compile_problem(problem)
    return program.state(assignment).part[: program.levels].tolist()


@pytest.mark.parametrize("how", Deal)
def test_the_answer_is_legal_and_no_worse_than_the_start(how: Deal) -> None:
    problem = crowd()
    before = [one.value(problem.initial) for c in problem.constraints for one in c.excess]
    options = Partitioning(parts=3, how=how, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(tries_max=60_000), seed=1, options=options)
    after = [one.value(result.assignment) for c in problem.constraints for one in c.excess]
    assert all((a <= b + 1e-9).all() for a, b in zip(after, before, strict=True))
    assert result.broken[1] < result.broken[0]
    assert [result.broken[1], *result.objective[1]] == pytest.approx(levels(problem, result.assignment))
    assert result.solver == "partitioned"
    assert "3 parts" in result.in_words()


def test_hard_constraints_hold_even_where_parts_cannot_know() -> None:
    """Steps over cut racks: all specs as hard constraints, for any cut."""
    for seed in range(2):
        problem = small_world()
        for name in (*LINEAR, "spread", "dependency", "diversity", "together", "failure buffer", "move group"):
            problem.add_constraint(EXAMPLES[name].spec)
        problem.add_goal(EXAMPLES["balance IDEAL RELATIVE"].spec)
        before = [one.value(problem.initial) for c in problem.constraints for one in c.excess]
        options = Partitioning(parts=3, how=Deal.RANDOM, insist=True, polish=0.0)
        result = solve_partitioned(problem, SearchLimits(tries_max=3_000), seed=seed, options=options)
        after = [one.value(result.assignment) for c in problem.constraints for one in c.excess]
        assert all((a <= b + 1e-7).all() for a, b in zip(after, before, strict=True))
        assert levels(problem, result.assignment) <= levels(problem, problem.initial)


def test_the_same_answer_in_process_threads_and_processes() -> None:
    problem, limits, options = crowd(), SearchLimits(tries_max=20_000), Partitioning(parts=3)
    alone = solve_partitioned(problem, limits, seed=3, options=options)
    with ThreadPoolExecutor(2) as threads:
        threaded = solve_partitioned(problem, limits, seed=3, options=options, executor=threads)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        elsewhere = solve_partitioned(problem, limits, seed=3, options=options, executor=processes)
    assert (alone.assignment == threaded.assignment).all()
    assert (alone.assignment == elsewhere.assignment).all()
    assert alone.objective == threaded.objective == elsewhere.objective
    assert (solve_partitioned(problem, limits, seed=4, options=options).assignment != alone.assignment).any()


def test_any_solver_solves_the_parts_and_one_that_fails_leaves_its_part_alone() -> None:
    asked = []

    def picky(problem, limits, *, seed):
        asked.append(len(problem.objects))
        if len(asked) == 2:
            raise ModelError("too hard for me")
        return solve_local(problem, limits, seed=seed)

    problem = crowd()
    options = Partitioning(parts=3, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(tries_max=20_000), options=options, solver=picky)
    assert len(asked) == 3
    assert sum(asked) == 600
    assert "part 1 stays as it is: too hard for me" in result.in_words()
    assert result.stopped_by is StoppedBy.WORK
    assert result.improved


def test_parts_that_are_solved_exactly_were_not_cut_short() -> None:
    problem = Problem(objects=60, containers=8, initial=np.arange(60) % 4)
    problem.add_dimension("cpu", 1.0 + np.arange(60) % 2, containers=np.full(8, 18.0))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(dimension="cpu"), normalise=False)
    options = Partitioning(parts=2, insist=True, polish=0.0)
    result = solve_partitioned(problem, SearchLimits(time_s_max=100), options=options, solver=solve_mip)
    assert result.broken[1] == 0
    assert result.stopped_by is StoppedBy.DONE
    assert "this solver looks no further" in result.in_words()


def test_facility_location_is_not_granular_and_is_solved_as_a_whole() -> None:
    problem = facilities()
    result = solve_partitioned(problem, SearchLimits(tries_max=40_000), options=Partitioning(parts=4))
    assert result.solver == "local"
    assert "not granular: of what objects gain where each is best off" in result.in_words()
    assert "solved as a whole" in result.in_words()
    insisted = solve_partitioned(
        problem, SearchLimits(tries_max=40_000), options=Partitioning(parts=4, insist=True, polish=0.0)
    )
    assert insisted.solver == "partitioned"
    assert insisted.objective[1][0] > result.objective[1][0] * 1.5


def test_a_handful_is_not_a_crowd() -> None:
    result = solve_partitioned(small_problem(), SearchLimits(tries_max=1_000), options=Partitioning(parts=3))
    assert "not granular: 8 objects a part are too few" in result.in_words()


def small_problem() -> Problem:
    problem = small_world()
    problem.add_goal(BalanceSpec(dimension="cpu"))
    return problem


def test_options_are_checked() -> None:
    with pytest.raises(BadValues, match="parts = 0; expected 1 to"):
        Partitioning(parts=0)
    with pytest.raises(BadValues, match=r"polish = 1\.0; expected a share"):
        Partitioning(polish=1.0)
