"""Local search improves and never worsens, by priority; it is reproducible, and increments do not drift."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.graph import linear
from libs.assignment.incremental.program import compile_problem
from libs.assignment.language.errors import BadValues
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.colocate_groups import ColocateGroupsSpec
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.local.hot_spots import container_heat
from libs.assignment.solvers.local.move_frequencies import Mix, usable_kinds
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.local.walk import Walk
from libs.assignment.solvers.settings import SearchLimits
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.worlds import CONTAINERS, small_world


def all_goals(*, hard: bool) -> Problem:
    problem = small_world()
    for example in EXAMPLES.values():
        problem.add_goal(example.spec, weight=1.5)
    problem.add_constraint(CapacitySpec(dimension="cpu", flavour=Flavour.DURING_AND_AFTER), hard=hard)
    problem.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=Limit(default=3)), hard=hard)
    return problem


@pytest.mark.parametrize("dense_max", [linear.DENSE_ELEMENTS_MAX, 20])
def test_increments_of_a_long_walk_are_the_whole(dense_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make 100,000 changes of all specs at once; with dense cells, and with most of them sparse."""
    monkeypatch.setattr(linear, "DENSE_ELEMENTS_MAX", dense_max)
    problem = small_world()
    for name, example in EXAMPLES.items():
        if dense_max > 20 or name not in NOT_SPARSE:
            problem.add_goal(example.spec)
    problem.add_constraint(CapacitySpec(dimension="cpu"), hard=False)
    program = compile_problem(problem)
    assert any(not cell.dense for cell in program.graph.cells) == (dense_max == 20)
    walk = Walk(program, problem.initial, 1)
    walk.anneal(1, 1e6, 1e5, 100_000, np.full(2, 1e-9), Mix(usable_kinds(program, proposals=False)).shares)
    assert walk.made > 40_000
    assert walk.value == pytest.approx(program.state(walk.assignment.copy()).part[:2], abs=1e-6)
    best = program.state(walk.best).part[:2]
    assert walk.best_value == pytest.approx(best, abs=1e-6)


NOT_SPARSE = {"group count, exact", "worst group move", "failure buffer"}
"""Their empty value is not zero, or they take a maximum: dense, or refused, at any size."""


def test_hard_constraints_hold_after_any_search() -> None:
    problem = all_goals(hard=True)
    result = solve_local(problem, SearchLimits(tries_max=30_000))
    at_start = [part.value(problem.initial) for c in problem.constraints for part in c.excess]
    at_end = [part.value(result.assignment) for c in problem.constraints for part in c.excess]
    for start, end in zip(at_start, at_end, strict=True):
        assert (end <= start + 1e-9).all()
    assert result.broken[1] <= result.broken[0]


def test_what_is_broken_is_mended_before_anything_else() -> None:
    problem = Problem(objects=4, containers=2, initial=[0, 0, 0, 0])
    problem.add_dimension("cpu", [3, 1, 1, 1], containers=[4, 4])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(), weight=1e6)
    result = solve_local(problem, SearchLimits(tries_max=2_000))
    assert result.broken == (2.0, 0.0)
    assert result.moved == 1
    assert result.assignment.tolist() == [1, 0, 0, 0]


def test_a_lower_priority_never_costs_a_higher_one() -> None:
    problem = small_world()
    problem.add_goal(MinimizeMovementSpec(), priority=0)
    problem.add_goal(CapacitySpec(dimension="cpu", limit=Limit(default=1)), priority=5)
    result = solve_local(problem, SearchLimits(tries_max=5_000))
    assert result.moved == 0
    assert not result.improved
    assert "nothing moves" in result.in_words()


def test_the_same_seed_and_tries_give_the_same_answer() -> None:
    rng = np.random.default_rng(0)
    problem = Problem(objects=300, containers=20, initial=rng.integers(20, size=300))
    problem.add_dimension("cpu", rng.random(300))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    runs = [solve_local(problem, SearchLimits(tries_max=50_000), seed=seed) for seed in (7, 7, 8)]
    assert (runs[0].assignment == runs[1].assignment).all()
    assert runs[0].objective == runs[1].objective
    assert runs[0].tries == runs[1].tries < 50_000 + 20  # a sweep finishes its present object
    assert (runs[0].assignment != runs[2].assignment).any()


def test_hot_containers_are_those_with_most_to_do_with_what_is_wrong() -> None:
    problem = Problem(objects=6, containers=4, initial=[0, 0, 0, 1, 1, 2])
    problem.add_scope("rack", [0, 0, 1, 1])
    problem.add_partition("job", [0, 0, 1, 1, 1, 1])
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)))
    program = compile_problem(problem)
    heat = container_heat(program.graph, program.goals, 1, problem.initial, problem.initial)
    assert heat[0] > heat[1] > 0 == heat[2] == heat[3]
    problem.add_goal(ColocateGroupsSpec(scope="rack", partition="job"), weight=100)
    program = compile_problem(problem)
    heat = container_heat(program.graph, program.goals, 1, problem.initial, problem.initial)
    assert heat[2] > 0 == heat[3]  # nothing in container 3 could move


def test_it_finds_the_best_of_a_tiny_problem() -> None:
    """Six objects on three containers: compare with all 729 assignments."""
    rng = np.random.default_rng(3)
    problem = Problem(objects=6, containers=3, initial=[0] * 6)
    problem.add_dimension("cpu", rng.integers(1, 9, size=6), containers=[8, 9, 7])
    problem.add_goal(CapacitySpec(dimension="cpu"), weight=5)
    problem.add_goal(MinimizeMovementSpec(dimension="cpu"))
    every = np.array(np.meshgrid(*[range(3)] * 6)).reshape(6, -1).T
    costs = [sum(g.cost.value(one)[0, 0] * g.weight / g.scale for g in problem.goals) for one in every]
    result = solve_local(problem, SearchLimits(tries_max=20_000))
    assert result.objective[1][0] == pytest.approx(min(costs))


def test_it_stops_when_nothing_is_left_to_gain() -> None:
    problem = Problem(objects=CONTAINERS, containers=CONTAINERS, initial=[0] * CONTAINERS)
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)))
    result = solve_local(problem, SearchLimits(tries_max=1_000_000_000))
    assert result.stopped_by is StoppedBy.OPTIMAL
    assert result.objective[1] == (0.0,)


def test_a_timed_search_stops_by_the_clock_and_says_so() -> None:
    result = solve_local(all_goals(hard=True), SearchLimits(tries_max=None, time_s_max=0.3))
    assert result.stopped_by is StoppedBy.TIME
    assert result.tries > 0
    before, after = ((result.broken[k], *result.objective[k]) for k in (0, 1))
    assert after <= before
    assert [step.tries for step in result.timeline] == sorted(step.tries for step in result.timeline)


@pytest.mark.parametrize("threads", [2, 3])
def test_walks_side_by_side_give_one_answer(threads: int) -> None:
    limits = SearchLimits(tries_max=60_000, threads=threads)
    runs = [solve_local(all_goals(hard=True), limits, seed=3) for _ in range(2)]
    assert (runs[0].assignment == runs[1].assignment).all()
    assert runs[0].objective == runs[1].objective
    assert runs[0].tries == runs[1].tries <= 60_000 + 20
    assert runs[0].objective[1] < runs[0].objective[0]


def test_threads_must_be_one_or_more() -> None:
    with pytest.raises(BadValues, match="threads = 0"):
        SearchLimits(threads=0)


def test_it_stops_at_what_totals_say_cannot_be_undercut() -> None:
    """Seven objects on three containers for two each: one always exceeds its limit."""
    problem = Problem(objects=7, containers=3, initial=[0] * 7)
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=2)), normalise=False)
    result = solve_local(problem, SearchLimits(tries_max=1_000_000_000))
    assert result.stopped_by is StoppedBy.OPTIMAL
    assert result.objective[1] == (1.0,)
    assert result.bound == (0.0, 1.0)


def test_nothing_to_place_is_placed() -> None:
    problem = Problem(objects=0, containers=2, initial=[])
    problem.add_dimension("cpu", [], containers=[1.0, 1.0])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    found = solve_local(problem, SearchLimits(tries_max=1_000))
    assert (len(found.assignment), found.stopped_by) == (0, StoppedBy.OPTIMAL)
