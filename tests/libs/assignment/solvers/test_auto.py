"""Test solvers by name, and the one that chooses."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.facade.solve import solve
from libs.assignment.language.errors import UnknownName
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.solvers import auto
from libs.assignment.solvers.known_limits import known_limits
from libs.assignment.solvers.limits import AUTO_S_MAX, Limits
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.registry import SOLVERS, solver_named
from tests.libs.assignment.markets import placement


def crowd(objects: int = 200, containers: int = 10) -> Problem:
    """Return unequal objects with a goal of balance."""
    rng = np.random.default_rng(0)
    problem = Problem(objects=objects, containers=containers, initial=rng.integers(containers // 2, size=objects))
    problem.add_dimension("cpu", rng.random(objects))
    problem.add_goal(BalanceSpec(dimension="cpu", formula=BalanceFormula.IDEAL))
    problem.add_goal(MinimizeMovementSpec(), weight=0.001)
    return problem


def alike() -> Problem:
    """Return two kinds of objects, with one overfull place."""
    problem = Problem(objects=40, containers=5, initial=[0] * 40)
    problem.add_dimension("cpu", 1.0 + np.arange(40) % 2, containers=np.full(5, 13.0))
    problem.add_constraint(CapacitySpec(dimension="cpu"))
    problem.add_goal(MinimizeMovementSpec(dimension="cpu"), normalise=False)
    return problem


def market() -> Problem:
    """Return objects with worth, none placed yet."""
    problem = Problem(objects=60, containers=7, initial=[6] * 60)
    problem.add_dimension("cpu", 1.0 + np.arange(60) % 4, containers=[12.0] * 6 + [0.0])
    placed = Filter(but=[6])
    problem.add_constraint(CapacitySpec(dimension="cpu", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(dimension="cpu", filter=placed), normalise=False)
    return problem


def test_names_that_do_not_exist_are_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no solver named 'partitoned'; did you mean 'partitioned'"):
        solver_named("partitoned")


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_all_are_called_alike_and_say_who_they_are(name: str) -> None:
    problem = market() if name == "price" else alike()
    given = {
        field: value for field, value in {"tries_max": 20_000, "time_s_max": 60}.items() if field in known_limits(name)
    }
    result = solve(problem, Limits(**given), solver=name, seed=1)
    assert result.assignment.shape == problem.initial.shape
    assert (result.broken[1], *result.objective[1]) < (result.broken[0], *result.objective[0])
    assert result.solver == {"auto": "mip"}.get(name, name)


def test_auto_prices_a_market() -> None:
    result = solver_named("auto")(placement(0, objects=1200, containers=40))
    assert result.solver == "price"
    assert "auto chose price: objects that are worth something" in result.in_words()
    assert result.prices is not None


def test_auto_solves_what_is_small_exactly() -> None:
    """40 objects of two kinds on five containers: ten pairs."""
    result = solver_named("auto")(alike())
    assert "auto chose mip: 10 pairs of a class of objects and a container are few enough" in result.in_words()
    assert result.broken[1] == 0
    assert result.objective[1] == (47.0,)  # 60 there, 13 may stay


def test_auto_counts_what_is_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "MIP_PAIRS", 9)
    result = solver_named("auto")(alike())
    assert result.solver == "portfolio"
    assert "auto chose portfolio: 40 objects are of 2 classes, so they are counted" in result.in_words()
    assert (result.broken[1], result.objective[1]) == (0, (47.0,))


def test_auto_searches_what_is_large_or_has_no_integer_form(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(tries_max=20_000)
    monkeypatch.setattr(auto, "MIP_PAIRS", 1_000)
    large = solver_named("auto")(crowd(), limits)
    assert large.solver == "local"
    assert "auto chose local: 2000 pairs of a class of objects and a container are too many" in large.in_words()
    monkeypatch.setattr(auto, "PART_OBJECTS", 90)
    larger = solver_named("auto")(crowd(), limits)
    assert larger.solver == "partitioned"
    assert "200 objects are too many for one search" in larger.in_words()
    assert "3 parts" in larger.in_words()


def test_auto_gains_what_the_goal_says_and_nothing_else() -> None:
    """Ten small objects worth 2 fill the container. Each of four large ones worth 3 needs all of it."""
    problem = Problem(objects=14, containers=2, initial=[1] * 14)
    problem.add_dimension("size", [1.0] * 10 + [10.0] * 4, containers=[10.0, 0.0])
    problem.add_dimension("worth", [2.0] * 10 + [3.0] * 4)
    placed = Filter(but=[1])
    problem.add_constraint(CapacitySpec(dimension="size", filter=placed))
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed), normalise=False)
    assert solve_price(problem).objective[1] == (-20.0,)
    assert solver_named("auto")(problem).objective[1] == (-20.0,)


def test_the_clock_of_auto_starts_before_it_compiles_and_goes_on_in_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = solve_mip(alike())
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    deadlines = []

    def spy(problem, limits, *, seed, compiled, deadline, **rest):
        deadlines.append((deadline.began, deadline.time_s_max, deadline.left_s))
        return answer

    monkeypatch.setattr(auto, "choose", lambda compiled: auto.Choice(solver="local", why="spied on", solve=spy))
    solver_named("auto")(alike(), Limits(time_s_max=12))
    solver_named("auto")(alike())
    assert deadlines[0][0] == 0.0
    assert deadlines[0][1:] == (12, 7.0)
    assert deadlines[1][1] == AUTO_S_MAX
