"""A model gives every assignment the value of its definition, and its optimum is the best assignment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from libs.assignment.graph import linear
from libs.assignment.language.errors import ModelError, NotLowerable
from libs.assignment.language.expressions.ceil import Ceil
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.log import Log
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.avoid_assignments import AvoidAssignmentsSpec
from libs.assignment.language.specs.avoid_moving import AvoidMovingSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.registry import all_specs
from libs.assignment.language.specs.spec import Spec
from libs.assignment.language.specs.utilisation import utilisation
from libs.assignment.model.lower import lower
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.mip import solve_mip
from tests.libs.assignment.examples import EXAMPLES
from tests.libs.assignment.tiny import OBJECTS as TINY
from tests.libs.assignment.tiny import SLACK, best_of_all, specs_of, tiny_world
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, random_assignment, small_world

each_example = pytest.mark.parametrize("name", EXAMPLES)


def test_every_spec_is_among_the_examples() -> None:
    assert {type(example.spec).__name__ for example in EXAMPLES.values()} == set(all_specs())


@each_example
def test_a_point_says_what_the_definition_says(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    lowered = lower(problem)
    assert lowered.sound
    assert np.isfinite(lowered.model.lower).all()
    assert np.isfinite(lowered.model.upper).all()
    for seed in range(8):
        assignment = random_assignment(seed)
        point, true = lowered.point(assignment), EXAMPLES[name].cost(problem, assignment)
        assert lowered.values(point)[1] == pytest.approx(true, abs=lowered.levels[1].error + SLACK)
        assert lowered.model.violation(point) < SLACK
        assert (lowered.counts(lowered.assignment(lowered.counts(assignment))) == lowered.counts(assignment)).all()
        cheapest = lowered.point_of(lowered.counts(assignment).astype(float))
        assert lowered.model.violation(cheapest) < SLACK


@each_example
def test_the_best_of_all_is_found_for_a_goal(name: str) -> None:
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    free = [3, 17]
    problem.add_constraint(AvoidMovingSpec(objects=[o for o in range(OBJECTS) if o not in free]))
    error = lower(problem).levels[1].error
    result = solve_mip(problem)
    best, _ = best_of_all(problem, free, (0.0, 0.0))
    assert result.stopped_by is StoppedBy.OPTIMAL
    assert (np.delete(result.assignment, free) == np.delete(problem.initial, free)).all()
    assert EXAMPLES[name].cost(problem, result.assignment) == pytest.approx(result.objective[1][0])
    assert result.objective[1][0] == pytest.approx(best[1], rel=1e-3, abs=error + SLACK)
    assert result.bound[1] <= best[1] + SLACK * max(1.0, abs(best[1]))


@pytest.mark.parametrize("seed", [*range(12), 23, 180, 202, 489, 509])
def test_the_best_of_all_is_found_with_constraints_and_priorities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = tiny_world(rng)
    goals, constraints = specs_of(rng)
    for priority, spec in enumerate(rng.choice(np.array(goals, dtype=object), size=2, replace=False)):
        problem.add_goal(spec, priority=priority, weight=float(rng.integers(1, 4)))
    for spec in rng.choice(np.array(constraints, dtype=object), size=2, replace=False):
        problem.add_constraint(spec, hard=bool(rng.integers(2)), weight=float(rng.integers(1, 4)))
    lowered = lower(problem)
    result = solve_mip(problem)
    best, allowed = best_of_all(problem, list(range(TINY)), tuple(level.error for level in lowered.levels))
    assert allowed
    for value, least, level in zip((result.broken[1], *result.objective[1]), best, lowered.levels, strict=True):
        assert value == pytest.approx(least, rel=1e-3, abs=level.error + SLACK)
        if level.error:
            break
    assert (lowered.compiled.values(result.assignment)[0]) == pytest.approx(result.broken[1])


@pytest.mark.parametrize("seed", range(12))
def test_the_cheapest_point_of_counts_is_the_cheapest(seed: int) -> None:
    """Prices decide which objects leave: no assignment with the same counts moves for less."""
    rng = np.random.default_rng(seed)
    problem = tiny_world(rng)
    problem.add_goal(MinimizeMovementSpec(dimension="trouble"), normalise=False)
    problem.add_constraint(CapacitySpec(dimension="cpu"), hard=False)
    lowered = lower(problem)
    assert len(lowered.classes) < len(problem.objects)
    for _ in range(20):
        assignment = rng.integers(3, size=TINY)
        counts = lowered.counts(assignment)
        cheapest = lowered.assignment(counts)
        assert (lowered.counts(cheapest) == counts).all()
        value = lowered.values(lowered.point_of(counts.astype(float)))[1]
        assert lowered.compiled.values(cheapest)[1] == pytest.approx(value)
        for _ in range(30):
            shuffled = assignment.copy()
            for k in range(len(lowered.classes)):
                members = np.flatnonzero(lowered.classes.of == k)
                shuffled[members] = rng.permutation(assignment[members])
            assert lowered.compiled.values(shuffled)[1] >= value - SLACK


class Custom(Spec):
    """A goal of any expression of cpu and of a number of objects, by container."""

    def __init__(self, of: object) -> None:
        object.__setattr__(self, "name", "custom")
        object.__setattr__(self, "of", of)

    def cost(self, problem: Problem) -> Expression:
        cpu, count = (utilisation(problem, self.where, "container", what) for what in ("cpu", "count"))
        return self.of(cpu, count)  # type: ignore[attr-defined]


FUNCTIONS = {
    "log": lambda u, _: Log(u - 6.0).total(),
    "log, wanted large": lambda u, _: Log(u).total() * -1.0,
    "log, wanted large, below zero": lambda u, _: Log(u - 6.0).total() * -1.0,
    "square root": lambda u, _: Power(u - 3.0, 0.5).total(),
    "square root, wanted large": lambda u, _: Power(u, 0.5).total() * -1.0,
    "cube": lambda u, _: Power(u - 11.5, 3.0).total(),
    "square, wanted large": lambda u, _: Power(u - 11.0, 2.0).total() * -1.0,
    "square, whole": lambda u, n: Power(n * 0.25, 2.0).total(),
    "rounded up": lambda u, _: Ceil(u * 0.3).total(),
    "rounded up, wanted large": lambda u, _: Ceil(u * 0.3).total() * -1.0,
    "positive part, wanted large": lambda u, _: PositivePart(u - 12.0).total() * -1.0,
    "step, wanted large": lambda u, _: Step(u - 12.5).total() * -1.0,
    "least": lambda u, _: Max(u * -1.0, Over.ALL) * -1.0,
    "third largest": lambda u, _: Max(u, Over.ALL, 2),
    "third least, wanted large": lambda u, _: Max(u, Over.ALL, 4) * -1.0,
    "largest, both ways": lambda u, _: Max(u - Max(u, Over.ALL, 1), Over.ALL),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_either_way(name: str) -> None:
    problem = small_world()
    problem.add_goal(Custom(FUNCTIONS[name]), normalise=False)
    free = [3, 17]
    lowered = lower(problem)
    level = lowered.levels[1]
    for seed in range(8):
        assignment = random_assignment(seed)
        point, true = lowered.point(assignment), problem.goals[0].cost.value(assignment)[0, 0]
        assert lowered.model.violation(point) < 1e-5
        assert lowered.values(point)[1] == pytest.approx(true, abs=level.error + SLACK)
        if lowered.sound:
            assert lowered.values(point)[1] <= true + SLACK
    problem.add_constraint(AvoidMovingSpec(objects=[o for o in range(OBJECTS) if o not in free]))
    level = lower(problem).levels[1]
    result = solve_mip(problem)
    best, _ = best_of_all(problem, free, (0.0, 0.0))
    assert result.objective[1][0] == pytest.approx(best[1], rel=1e-3, abs=level.error + SLACK)
    assert result.bound[1] <= best[1] + SLACK * max(1.0, abs(best[1]))
    if "whole" in name:
        assert level.error == 0


def test_columns_that_hard_constraints_rule_out_are_not_made() -> None:
    problem = small_world()
    open_to = [sorted({int(problem.initial[o]), 0, 3}) for o in range(OBJECTS)]
    avoided = [(o, [c for c in range(CONTAINERS) if c not in open_to[o]]) for o in range(OBJECTS)]
    problem.add_constraint(AvoidAssignmentsSpec(assignments=avoided))
    problem.add_goal(CapacitySpec(dimension="cpu"))
    lowered = lower(problem)
    for kind, container in zip(lowered.kind, lowered.container, strict=True):
        assert int(container) in open_to[int(lowered.classes.representative[kind])]
    closed = next(c for c in range(CONTAINERS) if c not in open_to[5])
    elsewhere = problem.initial.copy()
    elsewhere[5] = closed
    with pytest.raises(ModelError, match=f"'task5' in container 'host{closed}'"):
        lowered.point(elsewhere)


def test_movement_does_not_split_classes_and_leaving_is_counted_per_price() -> None:
    problem = Problem(objects=1000, containers=10, initial=np.arange(1000) % 10)
    problem.add_dimension("trouble", np.where(np.arange(1000) < 500, 1.0, 8.0))
    problem.add_dimension("cpu", 1.0, containers=120.0)
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(dimension="trouble"))
    lowered = lower(problem)
    assert len(lowered.classes) == 1
    assert len(lowered.kind) == 10
    assert len(lowered.leaving.column) == 20
    assert not lowered.model.integer[lowered.leaving.column].any()


def test_what_is_broken_may_stay_broken_and_never_gets_worse_anywhere() -> None:
    problem = Problem(objects=6, containers=3, initial=[0, 0, 0, 0, 1, 2])
    problem.add_dimension("cpu", 1.0, containers=[2.0, 1.0, 1.0])
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_dimension("liking", 1.0, by_item=("container", np.zeros(6, int), [[0.0, 5.0, 1.0]]))
    problem.add_goal(CapacitySpec(dimension="liking", limit=Limit(default=0.0)))
    result = solve_mip(problem)
    counts = np.bincount(result.assignment, minlength=3)
    assert counts[0] <= 4
    assert counts[1] <= 1
    assert counts[2] <= 1
    assert result.broken == (2.0, 2.0)


@pytest.mark.parametrize("name", ["group count", "group count, exact", "group count, share of the item", "dependency"])
def test_arrays_that_are_not_written_out_say_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups by containers may be too many to keep. Then only elements with columns are stored, and the rest is a
    number.
    """
    problem = small_world()
    problem.add_goal(EXAMPLES[name].spec, normalise=False)
    problem.add_constraint(EXAMPLES["group count, share of the group"].spec, hard=False)
    written = lower(problem)
    monkeypatch.setattr(linear, "DENSE_ELEMENTS_MAX", 1)
    lowered = lower(problem)
    assert any(not cell.dense for cell in lowered.compiled.graph.cells)
    for seed in range(8):
        assignment = random_assignment(seed)
        point = lowered.point(assignment)
        assert lowered.values(point) == pytest.approx(written.values(written.point(assignment)))
        assert lowered.values(point)[1] == pytest.approx(EXAMPLES[name].cost(problem, assignment))


def test_a_step_of_a_curve_is_refused_by_the_name_of_its_spec() -> None:
    problem = small_world()
    problem.add_goal(Custom(lambda u, _: Step(Power(u - 11.0, 1.5) - 20.0).total()))
    with pytest.raises(NotLowerable, match="Custom 'custom': cannot take a step of a value that has pieces itself"):
        lower(problem)
    problem.goals.clear()
    problem.add_goal(Custom(lambda u, _: Ceil(Log(u)).total()))
    with pytest.raises(NotLowerable, match="Custom 'custom': cannot round"):
        lower(problem)


def test_rows_say_whose_they_are_and_levels_add_up() -> None:
    problem = small_world()
    problem.add_constraint(CapacitySpec(name="fits", dimension="cpu"), hard=False)
    problem.add_goal(EXAMPLES["spread"].spec)
    problem.add_goal(MinimizeMovementSpec(name="calm", allowance=2.0), priority=1, weight=3.0)
    lowered = lower(problem)
    ends = [(block.first, block.last) for block in lowered.blocks]
    assert ends[0][0] == 0
    assert ends[-1][1] == len(lowered.model.row_lower)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    assert all(len(block.keys) == block.last - block.first for block in lowered.blocks)
    names = {block.name for block in lowered.blocks}
    assert {"objects", "CapacitySpec 'fits'", "MinimizeMovementSpec 'calm'"} <= names
    fits = next(block for block in lowered.blocks if block.name == "CapacitySpec 'fits'")
    for row, key in zip(range(fits.first, fits.last), fits.keys, strict=True):
        columns = lowered.model.matrix[[row]].tocsr().indices
        assert set(lowered.container[columns[columns < len(lowered.kind)]]) == {key // fits.columns}
    point = lowered.point(random_assignment(4))
    values = lowered.values(point)
    assert lowered.weighted([5.0, 1.0, 0.5]).objective(point) == pytest.approx(np.dot([5.0, 1.0, 0.5], values))
    held = lowered.at(2, values[:2])
    assert held.violation(point) < SLACK
    assert held.objective(point) == pytest.approx(values[2])
    tighter = lowered.at(2, (values[0] - 0.1, values[1]))
    assert tighter.violation(point) == pytest.approx(0.1)
