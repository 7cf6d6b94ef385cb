"""Check the value of every spec by its definition, by the graph and by increments; and check its page."""

from __future__ import annotations

import tracemalloc
from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from libs.assignment import Limits, solve
from libs.assignment.incremental.delta import try_moves
from libs.assignment.incremental.program import compile_problem
from libs.assignment.incremental.tables import LEVELS
from libs.assignment.language.errors import ModelError, UnknownName
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.language.specs.moves_in_progress import MovesInProgressSpec
from libs.assignment.language.specs.registry import all_specs
from libs.assignment.language.specs.spec import SPECS, Spec, spec, spec_named
from libs.assignment.solvers.known_limits import known_limits
from tests.libs.assignment.examples import EXAMPLES, Example
from tests.libs.assignment.worlds import CONTAINERS, OBJECTS, random_assignment, small_world

PAGES = Path(__file__).parents[5] / "docs" / "assignment"
NO_CONSTRAINT = (
    "AssignmentAffinitiesSpec",
    "BalanceSpec",
    "LargestGroupSpec",
    "MaximizeAllocationSpec",
    "MinimizeBinsSpec",
    "MinimizeMovementSpec",
    "MinimizeNthLargestUtilizationSpec",
    "UtilIncreaseCostSpec",
)
GOALS_ONLY = {spec_named(name) for name in NO_CONSTRAINT}
"""Specs that can only be goals."""
each_example = pytest.mark.parametrize("name", EXAMPLES)


def with_goal(example: Example) -> Problem:
    problem = small_world()
    problem.add_goal(example.spec, normalise=False)
    return problem


@each_example
def test_value_is_what_the_definition_says(name: str) -> None:
    problem = with_goal(EXAMPLES[name])
    for seed in range(20):
        assignment = random_assignment(seed)
        said = problem.goals[0].cost.value(assignment)
        assert said.shape == (1, 1)
        assert said[0, 0] == pytest.approx(EXAMPLES[name].cost(problem, assignment))


@each_example
def test_graph_and_increments_agree_with_the_definition(name: str) -> None:
    problem = with_goal(EXAMPLES[name])
    program = compile_problem(problem)
    state, rng = program.state(problem.initial), np.random.default_rng(1)
    for _ in range(300):
        count = int(rng.integers(1, 5))
        objects = rng.choice(OBJECTS, size=count, replace=False)
        targets = rng.integers(CONTAINERS, size=count)
        before = state.part[1]
        assert try_moves(program.tables, state, objects, targets, False)
        promised = state.part[int(program.tables.node[0, LEVELS]) + 1]
        assert state.part[1] == before
        assert try_moves(program.tables, state, objects, targets, True)
        assert state.part[1] == pytest.approx(before + promised, abs=1e-9)
        assert state.part[1] == pytest.approx(EXAMPLES[name].cost(problem, state.whole[:OBJECTS]), abs=1e-7)
    again = program.state(state.whole[:OBJECTS].copy())
    assert again.part[1] == pytest.approx(state.part[1], abs=1e-7)


@each_example
def test_as_a_constraint_it_is_broken_where_its_cost_is_not_zero(name: str) -> None:
    spec = EXAMPLES[name].spec
    problem = small_world()
    try:
        problem.add_constraint(spec)
    except ModelError as refused:
        assert "can only be a goal" in str(refused)  # noqa: PT017
        assert type(spec) in GOALS_ONLY
        return
    assert type(spec) not in GOALS_ONLY
    for seed in range(10):
        parts = [part.value(random_assignment(seed)) for part in problem.constraints[0].excess]
        assert all((part >= 0).all() for part in parts)
        broken = sum(part.sum() for part in parts)
        assert (broken > 1e-9) == (EXAMPLES[name].cost(problem, random_assignment(seed)) > 1e-9)


def test_every_spec_has_an_example_and_a_page() -> None:
    assert {type(example.spec).__name__ for example in EXAMPLES.values()} == set(all_specs())
    assert {page.stem for page in PAGES.glob("*Spec.md")} == set(all_specs())


@pytest.mark.parametrize("spec", all_specs())
def test_a_page_says_what_it_must(spec: str) -> None:
    page = (PAGES / f"{spec}.md").read_text()
    for heading in ("## Parameters", "## Formula", "## Example", "## Edge cases"):
        assert heading in page, heading
    for field in all_specs()[spec].__dataclass_fields__:
        assert f"`{field}`" in page, field


def test_names_that_do_not_exist_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="CapacitySpec: no field named 'dimnsion'; did you mean 'dimension'"):
        spec_named("CapacitySpec")(dimnsion="cpu")
    with pytest.raises(UnknownName, match="did you mean 'GroupCountSpec'"):
        spec_named("GroupCuontSpec")
    with pytest.raises(ModelError, match="CapacitySpec: needs dimension"):
        spec_named("CapacitySpec")()


def test_a_spec_of_ones_own_may_be_abstract_and_keep_what_belongs_to_the_class() -> None:
    class Counted(Spec, ABC):
        """Shared by specs that count."""

    @dataclass(frozen=True, kw_only=True)
    class Twice(Counted):
        unit: ClassVar[str]
        factor: float = 2.0

    assert Twice(name="both").factor == 2.0
    with pytest.raises(UnknownName, match="no field named 'unit'"):
        Twice(unit="rru")


def test_another_spec_of_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the meaning of a replay file would depend on the last import."""
    monkeypatch.setattr("libs.assignment.language.specs.spec.SPECS", dict(SPECS))

    def state() -> type[Spec]:
        @spec
        class OwnSpec(Spec):
            """Nothing."""

        return OwnSpec

    first, again = state(), state()
    assert first is not again is spec_named("OwnSpec")
    with pytest.raises(
        ModelError, match=r"specs\.capacity\.CapacitySpec is named 'CapacitySpec' too; give yours another"
    ):
        spec(type("CapacitySpec", (Spec,), {"__module__": "mine"}))
    assert spec_named("CapacitySpec") is CapacitySpec


def test_moves_in_progress_take_what_grows_with_the_moves() -> None:
    """As many moves as the paper has shards: no table of moves by containers, or of moves by moves, may be built."""
    moves, containers = 10_000, 27_000
    rng = np.random.default_rng(0)
    problem = Problem(objects=moves, containers=containers, initial=rng.integers(containers, size=moves))
    to = rng.permutation(containers)[:moves]
    tracemalloc.start()
    try:
        problem.add_constraint(MovesInProgressSpec(moves=list(enumerate(to.tolist()))))
        program = compile_problem(problem)
        state = program.state(problem.initial)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    stored = sum(array.size for array in (*program.tables, *state))
    assert stored < 30 * (moves + containers)
    assert peak < 4_000 * (moves + containers)
    late = float((problem.initial != to).sum())
    assert state.part[0] == late
    assert try_moves(program.tables, state, np.arange(3), to[:3], True)
    assert state.part[0] == late - 3


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("solver", ["auto", "local", "mip", "portfolio", "partitioned"])
def test_moves_in_progress_come_to_the_same_by_every_solver(solver: str, hard: bool) -> None:
    """Three objects are on their way to a container with room for two."""
    moves = ((0, 3), (1, 3), (2, 3), (3, 2), (5, 2))
    problem = Problem(objects=6, containers=4, initial=[0, 0, 0, 1, 1, 2])
    problem.add_dimension("size", [2, 1, 1, 1, 1, 1], containers=[5, 5, 5, 3])
    problem.add_constraint(CapacitySpec(dimension="size"))
    problem.add_constraint(MovesInProgressSpec(moves=moves), hard=hard)
    problem.add_goal(MinimizeMovementSpec())
    limits = Limits(tries_max=20_000) if "tries_max" in known_limits(solver) else None
    result = solve(problem, limits, solver=solver)
    late = sum(int(result.assignment[o]) != to for o, to in moves)
    assert result.broken == (4.0, late)
    assert (late, result.moved) == (1, 3) or solver == "partitioned"
