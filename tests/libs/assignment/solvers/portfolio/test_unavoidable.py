"""Relaxations disregard what containers must pay, and the sum of all goals has a bound of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.assignment import GroupCountSpec, Limit, Limits, Problem, SingleGroupFailureBufferSpec, solve
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio import unavoidable
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.unavoidable import without_unavoidable
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.test_joint import ordered

SEARCHED = PortfolioLimits(exact_columns_max=0)


def halls(*needs: float) -> Problem:
    """Return parties that need so much in spite of the loss of one of two halls, with two objects in each."""
    problem = Problem(objects=4, containers=len(needs) + 1, initial=[len(needs)] * 4)
    problem.add_scope("party", [*range(len(needs)), -1], len(needs))
    problem.add_partition("hall", [0, 0, 1, 1], 2)
    problem.add_dimension("worth", 1.0)
    problem.add_goal(
        SingleGroupFailureBufferSpec(
            scope="party", partition="hall", dimension="worth", limit=Limit(items=list(needs))
        ),
        normalise=False,
    )
    return problem


@pytest.mark.parametrize(("needs", "must_pay"), [((0.5, 2.5), {1}), ((0.5, 1.5), set()), ((2.5, 2.2), {0, 1})])
def test_the_cuts_of_containers_that_must_pay_are_left_out(needs: tuple[float, ...], must_pay: set[int]) -> None:
    """All four objects give 2 after a loss."""
    lowered = lower(halls(*needs))
    model = lowered.at(1, (0.0,))
    shares = shares_of(lowered, model.cost)
    with ThreadPool() as pool:
        found = without_unavoidable(lowered, 1, model, shares, lowered.held, pool=pool, until=math.inf)
    freed = np.flatnonzero(found.row_lower != model.row_lower)
    assert set(shares.rows[freed].nonzero()[1].tolist()) == must_pay
    assert (freed >= lowered.stated).all()
    assert np.isneginf(found.row_lower[freed]).all()
    assert same_but_sides(found, model)


def test_containers_that_pay_nothing_now_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all objects the first party pays for too many in a hall, and with one in each hall for nothing."""
    problem = halls(0.5, 2.5)
    spread = GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=1.0))
    problem.add_goal(spread, normalise=False)
    lowered, asked, real = lower(problem), list[Ints](), unavoidable.whole_least
    model = lowered.at(1, (0.0,))

    def noted(*given: Any, **named: Any) -> tuple[Floats, bool]:
        asked.append(given[5])
        return real(*given, **named)

    monkeypatch.setattr(unavoidable, "whole_least", noted)
    with ThreadPool() as pool:
        for counts in (lowered.held, lowered.counts(np.array([0, 2, 0, 2]))):
            shares = shares_of(lowered, model.cost)
            without_unavoidable(lowered, 1, model, shares, counts, pool=pool, until=math.inf)
    assert [some.tolist() for some in asked] == [[0, 1], [1]]


def same_but_sides(found: Model, model: Model) -> bool:
    return found.matrix is model.matrix and found.lower is model.lower and found.row_upper is model.row_upper


def test_the_relaxation_of_all_goals_has_no_such_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = halls(0.5, 2.5)
    spread = GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=0.5))
    problem.add_goal(spread, priority=1, normalise=False)
    relaxed, real = list[Model](), Phases.mended_and_relaxed

    def noted(phases: Phases, model: Model, *others: Any, **named: Any) -> Any:
        relaxed.append(model)
        return real(phases, model, *others, **named)

    monkeypatch.setattr(Phases, "mended_and_relaxed", noted)
    for whole_bound in (True, False):
        solve_portfolio(problem, replace(SEARCHED, whole_bound=whole_bound))
        stated = lower(problem).stated
        assert np.isneginf(relaxed[0].row_lower[stated:]).any() == whole_bound, "trees tell who must pay"
        relaxed.clear()


@pytest.mark.parametrize("seed", range(6))
def test_the_sum_of_all_goals_is_bounded(seed: int) -> None:
    problem = ordered(seed, 40, wanted=1.8)
    exact = solve(problem, Limits(nodes_max=4_000), solver="mip")
    found = solve_portfolio(problem, SEARCHED)
    assert -math.inf < found.sum_bound <= sum(exact.objective[1]) + 1e-6
    assert solve_portfolio(problem, replace(SEARCHED, exact_columns_max=10**6)).sum_bound == -math.inf


def test_where_objects_are_scarce_the_sum_is_bounded_better_than_its_parts() -> None:
    found = solve_portfolio(ordered(0, 40, wanted=1.8), replace(SEARCHED, neighbourhoods_max=0, whole_bound=False))
    assert found.sum_bound > sum(found.bound[1:]) + 1.0
