"""A step from container to container gives valid bounds, and spares a little changed problem its relaxation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
import pytest

from libs.assignment import Limits, solve
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio import relaxation_by_container, relaxing, unpaid
from libs.assignment.solvers.portfolio.alone import Alone
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.relaxation_by_container import (
    is_little_changed,
    is_near,
    penalties_to_pay,
    relax_by_container,
)
from libs.assignment.solvers.portfolio.subproblem import Answer, Subproblem
from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.mip.bound import bound_from_prices
from tests.libs.assignment.solvers.portfolio.test_solver import PARTIES, lowered_world, world
from tests.libs.assignment.solvers.portfolio.test_whole_bound import tiny

SEARCHED = Limits(exact_columns_max=0)


class Remembering:
    """A pool that solves at once, and remembers what it was asked and what it answered."""

    def __init__(self) -> None:
        self.asked: list[Subproblem] = []
        self.answers: list[Answer] = []

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        self.asked.append(one)
        self.answers.append(solve_subproblem(one, cancelled))
        found: Future[Answer] = Future()
        found.set_result(self.answers[-1])
        return found


def alone_in(lowered: Lowered, phases: Phases) -> Alone:
    """Return the containers of a problem, each by itself, with what they hold."""
    return Alone(lowered, phases.model, phases.shares, lowered.point_of(lowered.held), ThreadPool())


def after_change(seed: int, assignment: Ints) -> Problem:
    """Return the world after `assignment` (2000,) was carried out, and 1 % of its objects went back to the pool."""
    begin = assignment.copy()
    begin[np.random.default_rng(seed + 99).choice(len(begin), len(begin) // 100, replace=False)] = PARTIES
    return world(seed, len(begin), begin=begin)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_never_above_that_of_the_relaxation(seed: int) -> None:
    lowered, searched = lowered_world(seed)
    model, whole = searched.model, relax(lowered, searched.model)
    found = relax_by_container(lowered, model, alone_in(lowered, searched))
    assert -np.inf < found.bound <= whole.bound + 1e-4
    assert found.rows is not None
    assert found.bound == bound_from_prices(model, found.rows)
    assert (found.fractional, found.point) == (None, None)
    assert found.raw is not None
    assert not found.timed_out


def test_without_time_the_bound_still_holds() -> None:
    lowered, searched = lowered_world(1)
    model, whole = searched.model, relax(lowered, searched.model)
    found = relax_by_container(lowered, model, alone_in(lowered, searched), -1.0)
    assert found.timed_out
    assert -np.inf < found.bound <= whole.bound + 1e-4
    assert found.raw is not None
    assert np.array_equal(found.raw, lowered.point_of(lowered.held))


@pytest.mark.parametrize("seed", range(3))
def test_a_little_changed_problem_is_solved_without_a_relaxation(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve(world(seed, 2_000), SEARCHED, solver="portfolio")
    changed = after_change(seed, first.assignment)
    monkeypatch.setattr(relaxation_by_container, "FEW", 0.0)
    whole = solve(changed, SEARCHED, solver="portfolio")
    monkeypatch.undo()

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("relaxed")

    for name in ("relax", "relax_by_columns"):
        monkeypatch.setattr(relaxing, name, refused)
    found = solve(changed, SEARCHED, solver="portfolio")
    assert found.broken[1] == 0
    assert found.bound[1] <= whole.objective[1][0] + 1e-6
    assert found.bound[1] >= 0.98 * whole.bound[1]
    assert found.objective[1][0] <= 1.02 * whole.objective[1][0]
    with pytest.raises(AssertionError, match="relaxed"):
        solve(world(seed, 2_000), SEARCHED, solver="portfolio")


@pytest.mark.parametrize(
    ("name", "value"), [("NEAR", 0.0), ("FEW", 0.0), ("penalties_to_pay", lambda *_, **__: (None, False))]
)
def test_a_bound_that_is_not_enough_is_replaced(name: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = after_change(1, solve(world(1, 2_000), SEARCHED, solver="portfolio").assignment)
    whole, asked = relaxing.Relaxing.whole, []
    monkeypatch.setattr(relaxing.Relaxing, "whole", lambda one: asked.append(1) or whole(one))
    solve(changed, SEARCHED, solver="portfolio")
    assert not asked
    monkeypatch.setattr(relaxation_by_container, name, value)
    solve(changed, SEARCHED, solver="portfolio")
    assert asked


def test_near_is_a_share_of_the_bound_without_penalties() -> None:
    assert is_near(102.0, 100.0, 0.0, 0.0)
    assert not is_near(106.0, 100.0, 0.0, 0.0)
    assert is_near(1_102.0, 100.0, 1_000.0, 1_000.0), "fractions avoid the penalty, so the bound lacks it"
    assert is_near(1_102.0, 1_100.0, 1_000.0, 0.0)
    assert not is_near(1_106.0, 1_100.0, 1_000.0, 0.0), "a penalty in both makes no gap small"
    assert not is_near(10_900.0, 5_000.0, 10_000.0, 0.0)
    assert not is_near(100.0, -np.inf, 0.0, 0.0)


def test_little_is_a_share_of_the_objects() -> None:
    lowered = lower(world(1, 200))
    counts = lowered.held.copy()
    counts[0] += 12  # 6 objects that move are 12 counts of difference
    assert is_little_changed(lowered, counts)
    counts[0] += 1
    assert not is_little_changed(lowered, counts)


def test_penalties_that_no_plan_avoids_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whole objects each party pays 1, because it needs two of which half would do. Nothing costs it 25."""
    monkeypatch.setattr(unpaid, "DEAR", 0.0)
    # with cuts, fractions would pay too
    monkeypatch.setattr("libs.assignment.model.lower.with_rounding_cuts", lambda model, **_: model)
    lowered = lower(tiny())
    model = lowered.at(1, (0.0,))
    shares = shares_of(lowered, model.cost)

    def to_pay(counts: Ints) -> tuple[float, float] | None:
        found, timed_out = penalties_to_pay(lowered, model, shares, counts, pool=ThreadPool(), until=np.inf)
        assert not timed_out
        return found

    best = lowered.counts(np.asarray(solve(tiny(), solver="portfolio").assignment))
    assert model.objective(lowered.point_of(best)) == pytest.approx(2.0)
    assert to_pay(best) == pytest.approx((2.0, 2.0), abs=1e-3)
    assert to_pay(lowered.held) is None
    monkeypatch.setattr(relaxation_by_container, "PAYING_MAX", 1)
    assert to_pay(best) is None
    monkeypatch.setattr(unpaid, "DEAR", 1e9)
    assert to_pay(best) == (0.0, 0.0)


def test_without_containers_but_the_sink_nothing_is_wanted() -> None:
    problem = Problem(objects=3, containers=1, initial=np.zeros(3, np.int64))
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    lowered = lower(problem)
    shares = shares_of(lowered, lowered.model.cost)
    assert shares.sink == 0
    begin, rows = lowered.point_of(lowered.held), np.zeros(len(lowered.model.row_lower))
    wanted = Alone(lowered, lowered.model, shares, begin, ThreadPool()).at(rows, np.inf)
    assert np.array_equal(wanted.x, begin)
    assert np.array_equal(wanted.rows, rows)
    assert not wanted.timed_out


def in_containers(lowered: Lowered, x: Floats) -> float:
    """Return the number of objects that containers have at the point `x` (C,)."""
    return float(x[: len(lowered.kind)].sum())


def test_the_next_prices_begin_at_the_vertices_of_the_last() -> None:
    lowered, phases = lowered_world(3)
    pool, begin = Remembering(), lowered.point_of(lowered.held)
    alone = Alone(lowered, phases.model, phases.shares, begin, pool)
    rows = np.zeros(len(phases.model.row_lower))
    for raised in (0.0, 0.3, -0.2):
        rows[: len(lowered.classes.size)] = raised
        fresh = Alone(lowered, phases.model, phases.shares, begin, ThreadPool()).at(rows, np.inf)
        again = alone.at(rows, np.inf)
        paid, expected = (phases.model.cost @ one.x - raised * in_containers(lowered, one.x) for one in (again, fresh))
        assert paid == pytest.approx(expected, rel=1e-6)
    assert pool.asked[0].basis is None
    parts = len(pool.asked) // 3
    for last, later in zip(pool.answers, pool.asked[parts:], strict=False):
        assert later.basis is last.basis is not None
