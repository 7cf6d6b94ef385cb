"""Test one import, one call and one set of limits for every solver."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import typing
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

import libs.assignment as facade
from libs.assignment import (
    BadValues,
    BalanceSpec,
    CapacitySpec,
    Filter,
    Limits,
    MaximizeAllocationSpec,
    MinimizeMovementSpec,
    Problem,
    Progress,
    Result,
    StoppedBy,
    UnknownName,
    solve,
)
from libs.assignment.language.specs.registry import all_specs
from libs.assignment.solvers.known_limits import BEGIN_AT_START, KNOWN, known_limits
from libs.assignment.solvers.registry import SOLVERS

ROOT = Path(__file__).parents[4]
OURS = sorted(set(SOLVERS) - {"auto"})


def crowd(objects: int = 60, containers: int = 6) -> Problem:
    """Return a problem with two overfull places and unequal objects."""
    rng = np.random.default_rng(0)
    problem = Problem(objects=objects, containers=containers, initial=np.arange(objects) % 2)
    problem.add_dimension("cpu", 1.0 + rng.random(objects), containers=np.full(containers, 2.0 * objects / containers))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(BalanceSpec(dimension="cpu", formula="SQUARES"))
    problem.add_goal(MinimizeMovementSpec(), priority=1)
    return problem


def market() -> Problem:
    """Return a market: all objects are outside at first, and have a worth."""
    problem = Problem(objects=60, containers=7, initial=[6] * 60)
    problem.add_dimension("cpu", 1.0 + np.arange(60) % 4, containers=[12.0] * 6 + [0.0])
    placed = Filter(but=[6])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(dimension="cpu", filter=placed), normalise=False)
    return problem


def given_to(solver: str) -> Problem:
    return market() if solver == "price" else crowd()


def few(solver: str) -> Limits:
    """Return limits for little work, so that a test is quick."""
    every = {"tries_max": 3_000, "nodes_max": 3, "neighbourhoods_max": 3, "exact_columns_max": 0, "parts": 2}
    return Limits(
        insist=True if solver == "partitioned" else None, **{k: v for k, v in every.items() if k in KNOWN[solver]}
    )


def test_every_spec_and_every_enum_of_its_fields_is_public() -> None:
    ours = {name: one for name, one in all_specs().items() if one.__module__.startswith("libs.")}
    wanted = set(ours)
    for spec in ours.values():
        for hint in typing.get_type_hints(spec).values():
            kinds = [one for one in (hint, *typing.get_args(hint)) if isinstance(one, type) and issubclass(one, Enum)]
            wanted |= {kind.__name__ for kind in kinds}
    assert len(ours) >= 25
    assert wanted <= set(facade.__all__)
    assert {"Problem", "solve", "Limits", "Result", "Explainer", "Limit", "LimitType", "Bound"} <= set(facade.__all__)


def test_the_list_holds_what_type_checkers_see() -> None:
    text = (ROOT / "libs/assignment/__init__.py").read_text()
    block = text[text.index("if TYPE_CHECKING:") : text.index("_PLACES")]
    namespace: dict[str, object] = {}
    exec("if True:\n" + block.partition("\n")[2], namespace)  # the imports of an editor
    seen = {name: one for name, one in namespace.items() if not name.startswith("__")}
    assert set(seen) == set(facade.__all__) == set(facade._MODULES)
    for name, one in seen.items():
        assert getattr(facade, name) is one
        assert name in dir(facade)


def test_importing_the_package_costs_nothing_and_a_wrong_name_is_refused() -> None:
    imports = "import sys, libs.assignment, libs.assignment.language.errors"
    code = imports + "; print(*{m.partition('.')[0] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "highspy", "scipy", "pyarrow"} & set(done.stdout.split())
    with pytest.raises(AttributeError, match="no attribute 'BalanceSpek'; did you mean 'BalanceSpec'"):
        _ = facade.BalanceSpek
    assert (ROOT / "libs/assignment/py.typed").exists()


@pytest.mark.parametrize("solver", OURS)
def test_a_limit_that_a_solver_does_not_know_is_refused_by_name(solver: str) -> None:
    unknown = {"nodes_max": 5, "tries_max": 5, "parts": 2, "stall": 3}
    for name, value in unknown.items():
        if name not in KNOWN[solver]:
            said = f"{name} = {value}: solver '{solver}' has no such limit; it has time_s_max"
            with pytest.raises(BadValues, match=said):
                solve(given_to(solver), Limits(**{name: value}), solver=solver)


def test_every_limit_is_known_to_a_solver_and_all_of_them_to_auto() -> None:
    fields = {field.name for field in dataclasses.fields(Limits)}
    assert fields == set(known_limits("auto"))


def test_auto_says_what_it_did_not_use() -> None:
    result = solve(crowd(12, 3), Limits(tries_max=500, threads=1, time_s_max=600))
    assert result.solver == "mip"
    assert "mip does not use tries_max, threads" in result.in_words()
    searched = solve(crowd(12, 3), Limits(time_s_max=600, nodes_max=0))
    assert "does not use" not in searched.in_words()
    assert searched.tries == 0


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tries_max", 1.5, "expected a whole number or math.inf"),
        ("tries_max", True, "expected a whole number"),
        ("tries_max", 0, "expected 1 or more"),
        ("threads", 1.5, "expected a whole number"),
        ("threads", math.inf, "expected a whole number"),
        ("nodes_max", -1, "expected 0 or more"),
        ("time_s_max", 0, "expected seconds above 0"),
        ("time_s_max", "10", "expected a number"),
        ("time_s_max", math.nan, "expected 0 or more"),
        ("relative_gap", -0.1, "expected 0 or more"),
        ("polish", 1.0, "expected a share"),
        ("parts", 5000, "expected 1 to 4096"),
        ("insist", 1, "expected True or False"),
        ("together", 3, "expected the name of a scope"),
    ],
)
def test_limits_that_make_no_sense_are_refused(field: str, value: object, said: str) -> None:
    with pytest.raises(BadValues, match=rf"limits: {field} = .*{said}"):
        Limits(**{field: value})


def test_words_that_do_not_exist_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no Deal named 'random'; did you mean 'RANDOM'"):
        Limits(deal="random")
    with pytest.raises(UnknownName, match="no solver named 'locl'; did you mean 'local'"):
        solve(crowd(), solver="locl")
    with pytest.raises(UnknownName, match="no objective named 'total'; known: priorities, sum"):
        solve(crowd(), objective="total")
    with pytest.raises(UnknownName, match="no option of solver 'price' named 'price'; did you mean 'prices'"):
        solve(market(), solver="price", price=None)
    with pytest.raises(UnknownName, match="no option of solver 'mip' named 'proposer'"):
        solve(crowd(), solver="mip", proposer=None)
    with pytest.raises(BadValues, match=r"tries_max = math\.inf needs a time_s_max"):
        solve(crowd(), Limits(tries_max=math.inf), solver="local")
    with pytest.raises(BadValues, match="solve: limits = 10; expected Limits"):
        solve(crowd(), 10)  # type: ignore[arg-type]


def test_tries_without_end_follow_the_clock() -> None:
    assert solve(crowd(), Limits(tries_max=math.inf, time_s_max=0.3), solver="local").stopped_by is StoppedBy.TIME


@pytest.mark.parametrize("solver", OURS)
def test_every_solver_reports_its_progress_alike(solver: str) -> None:
    heard: list[Progress] = []
    problem = given_to(solver)
    result = solve(problem, few(solver), solver=solver, progress=heard.append)
    assert isinstance(result, Result)
    assert heard
    assert all(isinstance(one, Progress) for one in heard)
    times = [one.time_s for one in heard]
    assert times == sorted(times)
    levels = 1 + len({goal.priority for goal in problem.goals})
    final = (result.broken[1], *result.objective[1])
    for level in range(levels):
        of_level = [one for one in heard if one.level == level]
        assert all(one.bound <= final[level] + 1e-6 for one in of_level)
        assert all(one.level < levels for one in heard)
    if solver in ("local", "partitioned"):
        assert heard[-1].value == pytest.approx(final[heard[-1].level])


@pytest.mark.parametrize("solver", [*OURS, "auto"])
def test_every_solver_ends_when_the_caller_says_so(solver: str) -> None:
    """The question would raise if it were asked again after a yes: the first yes must count for good."""
    problem = given_to(solver)
    asked: list[bool] = []

    def cancelled() -> bool:
        assert not any(asked), "asked again after a yes"
        asked.append(len(asked) >= 1)
        return asked[-1]

    limits = Limits(tries_max=math.inf, time_s_max=600) if solver == "local" else None
    if solver == "partitioned":
        limits = Limits(parts=2, insist=True, time_s_max=600, tries_max=math.inf)
    if solver == "portfolio":
        limits = Limits(exact_columns_max=0)
    result = solve(problem, limits, solver=solver, cancelled=cancelled)
    assert asked[-1]
    assert result.stopped_by is StoppedBy.CANCELLED
    assert "stopped when asked to" in result.in_words()
    assert result.broken[1] <= result.broken[0] + 1e-9


def test_a_part_that_has_not_begun_is_not_begun_after_the_caller_ended_it() -> None:
    begun: list[int] = []

    def part(problem: Problem, limits: Limits, *, seed: int, cancelled: object = None) -> Result:
        begun.append(len(problem.objects))
        return solve(problem, Limits(tries_max=100), solver="local", seed=seed)

    limits = Limits(parts=3, insist=True)
    result = solve(crowd(), limits, solver="partitioned", part_solver=part, cancelled=lambda: len(begun) == 1)
    assert len(begun) == 1
    assert result.stopped_by is StoppedBy.CANCELLED


def test_the_sum_of_priorities_is_one_level_below_what_is_broken() -> None:
    """Ten units of balance are worth one move. Ranked by priority, no object would move."""
    problem = Problem(objects=4, containers=2, initial=[0, 0, 0, 0])
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    problem.add_goal(BalanceSpec(dimension="count", formula="SQUARES"), weight=10, priority=1, normalise=False)
    in_order = solve(problem, solver="mip")
    added_up = solve(problem, solver="mip", objective="sum")
    assert (in_order.moved, added_up.moved) == (0, 2)
    assert [len(one.objective[1]) for one in (in_order, added_up)] == [2, 1]
    assert added_up.objective[1][0] < sum(in_order.objective[1])
    assert [goal.priority for goal in problem.goals] == [0, 1], "the problem stays as it was stated"
    problem.add_constraint(CapacitySpec(dimension="count", limit=1, filter=[1]))
    assert solve(problem, solver="mip", objective="sum").moved == 1, "a constraint comes first"


@pytest.mark.parametrize("solver", OURS)
def test_a_start_is_used_or_compared_and_the_better_one_is_the_answer(solver: str) -> None:
    problem = given_to(solver)
    alone = solve(problem, few("mip"), solver="mip")
    best = alone.assignment
    hurried = Limits(time_s_max=1e-4) if solver in ("price", "portfolio") else few(solver)
    names = [problem.containers.name(int(c)) for c in best]
    assert problem.containers.names is None
    result = solve(problem, hurried, solver=solver, start=best, seed=3)
    assert result.broken[1] <= alone.broken[1] + 1e-9
    assert len(names) == len(best)
    assert (result.broken[1], *result.objective[1]) <= tuple(x + 1e-6 for x in (alone.broken[1], *alone.objective[1]))
    if solver not in BEGIN_AT_START:
        assert "start" in result.in_words()
    if "was kept" in result.in_words():
        assert (result.assignment == best).all()
        assert result.moved == (best != problem.initial).sum()
        assert result.timeline[-1].objective == pytest.approx((result.broken[1], *result.objective[1]))


def test_a_start_that_is_no_start_is_refused() -> None:
    with pytest.raises(BadValues, match="start: expected 60 indices"):
        solve(crowd(), start=[0])
    with pytest.raises(BadValues, match=r"start: indices are outside 0\.\.5"):
        solve(crowd(), start=[9] * 60)
