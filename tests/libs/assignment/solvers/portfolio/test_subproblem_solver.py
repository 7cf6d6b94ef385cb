"""How a subproblem is solved follows from its size."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.assignment.language.matrices import csc
from libs.assignment.solvers.portfolio import subproblem_solver as module
from libs.assignment.solvers.portfolio.subproblem import CountSearch, Subproblem
from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem
from libs.mip import highs
from libs.mip.highs import PARTS, Limits, Part, solve_mip
from libs.mip.model import Model


def covers(columns: int, rows: int = 3) -> Model:
    """Return the program of the cheapest whole counts that cover each row, as a container covers its capacity."""
    rng = np.random.default_rng(columns)
    return Model(
        cost=rng.uniform(1.0, 2.0, columns),
        lower=np.zeros(columns),
        upper=np.full(columns, 3.0),
        integer=np.ones(columns, np.bool_),
        row_lower=np.full(rows, 7.3),
        row_upper=np.full(rows, np.inf),
        matrix=csc(rng.uniform(0.5, 2.0, (rows, columns))),
    )


def tree(model: Model, nodes_max: int, until: float) -> Subproblem:
    search = CountSearch(
        start=np.full(len(model.cost), 3.0),
        counts=0,
        loose=np.zeros(0, np.int64),
        nodes_max=nodes_max,
        absolute_gap=0.0,
        seed=0,
    )
    return Subproblem(model=model, until=until, search=search, bounds=True)


@pytest.mark.parametrize(
    ("columns", "nodes", "presolve", "strong"),
    [(300, 20, False, True), (301, 50, True, False), (301, 51, True, True), (300, 51, False, True)],
)
def test_a_large_tree_of_few_nodes_branches_without_solving_both_sides(
    columns: int, nodes: int, presolve: bool, strong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = list[dict[str, Any]]()

    def recorded(*some: Any, **named: Any) -> Any:
        given.append(named)
        return solve_mip(*some, **named)

    monkeypatch.setattr(module, "solve_mip", recorded)
    solve_subproblem(tree(covers(columns), nodes, time.perf_counter() + 60.0))
    assert [(one["presolve"], one["strong_branching"]) for one in given] == [(presolve, strong)]


@pytest.mark.parametrize("columns", range(12, 18))
def test_both_ways_to_branch_prove_the_same_cost(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, options, option = covers(columns), list[tuple[str, Any]](), highs._option

    def recorded(solver: Any, name: str, value: Any) -> None:
        options.append((name, value))
        option(solver, name, value)

    monkeypatch.setattr(highs, "_option", recorded)
    strong, plain = (
        solve_mip(model, Limits(relative_gap=0.0), strong_branching=some, heuristics=0.0) for some in (True, False)
    )
    assert options.count(("mip_pscost_minreliable", 0)) == 1, "the solver is told once"
    assert strong.optimal
    assert plain.optimal
    assert plain.objective == pytest.approx(strong.objective, abs=1e-6)
    assert plain.bound == pytest.approx(strong.bound, abs=1e-6)


@pytest.mark.parametrize(
    ("parts", "heuristics", "run"),
    [(PARTS, 0.2, {*PARTS}), (("rens",), 0.2, {"rens"}), ((), 0.2, set()), (PARTS, 0.0, set())],
)
def test_only_programs_of_the_parts_asked_for_are_solved(
    parts: tuple[Part, ...], heuristics: float, run: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, option = dict[str, Any](), highs._option

    def recorded(solver: Any, name: str, value: Any) -> None:
        options[name] = value
        option(solver, name, value)

    monkeypatch.setattr(highs, "_option", recorded)
    solve_mip(covers(12), parts=parts, heuristics=heuristics)
    assert {part for part in PARTS if options[f"mip_heuristic_run_{part}"]} == run


@pytest.mark.parametrize("columns", range(12, 18))
def test_a_neighbourhood_is_improved_to_its_optimum_without_most_programs_of_a_part(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, given = covers(columns), list[dict[str, Any]]()

    def recorded(*some: Any, **named: Any) -> Any:
        given.append(named)
        return solve_mip(*some, **named)

    monkeypatch.setattr(module, "solve_mip", recorded)
    one = tree(model, 10_000, math.inf)
    assert one.search is not None
    search = replace(one.search, counts=columns, absolute_gap=1e-9)
    found = solve_subproblem(replace(one, search=search, bounds=False))
    best = solve_mip(model, Limits(relative_gap=0.0)).objective
    assert found.gained == pytest.approx(model.objective(search.start) - best, abs=1e-6)
    assert [(named["parts"], named["strong_branching"], named["symmetry"]) for named in given] == [
        (("rens",), False, False)
    ]


@pytest.mark.parametrize(("left_s", "cancelled"), [(-1.0, False), (60.0, True)])
def test_nothing_is_loaded_once_the_time_is_up(left_s: float, cancelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_loaded", lambda *_, **__: pytest.fail("a program was loaded"))
    until = time.perf_counter() + left_s
    for one in (tree(covers(12), 20, until), Subproblem(model=covers(12), until=until)):
        found = solve_subproblem(one, lambda: cancelled)
        assert found.timed_out
        assert found.x is None
        assert found.bound == -np.inf


@pytest.mark.parametrize("columns", range(12, 18))
def test_a_tree_that_looks_for_points_returns_one_beside_the_same_bound(columns: int) -> None:
    model = covers(columns)
    one = tree(model, 10_000, math.inf)
    plain, both = solve_subproblem(one), solve_subproblem(replace(one, points=True))
    assert plain.x is None
    assert both.x is not None
    assert both.bound == pytest.approx(plain.bound, abs=1e-5)
    assert (model.cost * both.x).sum() == pytest.approx(both.bound, abs=1e-5)
    assert both.gained == pytest.approx((model.cost * (one.search.start - both.x)).sum() if one.search else 0.0)
    start = CountSearch(start=both.x, counts=0, loose=np.zeros(0, np.int64), nodes_max=9, absolute_gap=0.0, seed=0)
    again = solve_subproblem(replace(one, search=start, points=True))
    assert again.gained == pytest.approx(0.0, abs=1e-6), "nothing is better than this start"
