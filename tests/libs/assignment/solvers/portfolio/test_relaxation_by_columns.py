"""A relaxation by columns is feasible, its bound holds, and rounds bring both to the whole relaxation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio import proposals as proposals_module
from libs.assignment.solvers.portfolio import relaxation_by_columns as columns
from libs.assignment.solvers.portfolio.alone import Alone
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.proposals import Proposals
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.assignment.solvers.portfolio.relaxation_by_columns import is_by_columns, relax_by_columns
from libs.assignment.solvers.portfolio.relaxation_by_container import relax_by_container
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.mip.bound import bound_from_prices
from libs.mip.highs import Limits, Method
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, lowered_world, world


def relaxed(lowered: Lowered, phases: Phases, time_s_max: float = np.inf) -> tuple[Relaxation, Relaxation]:
    """Return the step from container to container, and the relaxation by columns that goes on from it."""
    model, shares = phases.model, phases.shares
    alone = Alone(lowered, model, shares, lowered.point_of(lowered.held), ThreadPool())
    step = relax_by_container(lowered, model, alone)
    return step, relax_by_columns(lowered, model, shares, alone, step, time_s_max, begin=lowered.held)


@pytest.mark.parametrize("seed", range(6))
def test_the_plan_is_feasible_and_the_bound_holds(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    step, found = relaxed(lowered, phases)
    whole = relax(lowered, phases.model)
    assert found.point is not None
    assert found.fractional is not None
    assert found.rows is not None
    stated = phases.model.matrix[: lowered.stated] @ found.point  # the cheapest point of fractions may break cuts
    assert (stated >= phases.model.row_lower[: lowered.stated] - 1e-5).all()
    assert (stated <= phases.model.row_upper[: lowered.stated] + 1e-5).all()
    assert np.bincount(lowered.kind, found.fractional) == pytest.approx(lowered.classes.size)
    assert whole.bound - 1e-4 <= phases.model.objective(found.point) <= 1.05 * whole.bound
    assert step.bound <= found.bound <= whole.bound + 1e-4
    assert found.bound == bound_from_prices(phases.model, found.rows)
    assert not found.timed_out


def test_enough_rounds_find_the_whole_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROUNDS", 60)
    monkeypatch.setattr(columns, "NEAR", 1e-6)
    monkeypatch.setattr(columns, "EARLY", 1e-6)
    for seed in range(4):
        lowered, phases = lowered_world(seed)
        _, found = relaxed(lowered, phases)
        whole = relax(lowered, phases.model)
        assert found.point is not None
        assert found.bound == pytest.approx(whole.bound, rel=1e-4)
        assert phases.model.objective(found.point) == pytest.approx(whole.bound, rel=1e-4)


def test_rounds_raise_the_bound_of_the_step() -> None:
    raised = [found.bound - step.bound for step, found in (relaxed(*lowered_world(seed)) for seed in range(4))]
    assert max(raised) > 0


def test_without_time_the_bound_is_that_of_the_step() -> None:
    step, found = relaxed(*lowered_world(1), time_s_max=-1.0)
    assert found.timed_out
    assert found.bound == step.bound
    assert (found.fractional, found.point) == (None, None)


@pytest.mark.parametrize("seed", range(4))
def test_a_clock_that_ends_rounds_leaves_a_plan_and_a_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "NEAR", 0.0)
    monkeypatch.setattr(columns, "PATIENCE", np.inf)  # so no second round begins
    lowered, phases = lowered_world(seed)
    step, found = relaxed(lowered, phases, 3600.0)
    assert found.timed_out
    assert found.bound >= step.bound
    assert found.point is not None
    stated = phases.model.matrix[: lowered.stated] @ found.point  # the cheapest point of fractions may break cuts
    assert (stated >= phases.model.row_lower[: lowered.stated] - 1e-5).all()
    assert (stated <= phases.model.row_upper[: lowered.stated] + 1e-5).all()


def test_a_mix_needs_no_more_than_its_first_point_has() -> None:
    lowered, phases = lowered_world(2)
    begin = lowered.point_of(lowered.held)
    proposals = Proposals(lowered, phases.model, phases.shares, begin)
    assert proposals.mix(1e-6, np.inf) is not None
    assert proposals.cost == pytest.approx(phases.model.objective(begin), rel=1e-4)
    assert np.allclose(proposals.mixed()[: len(lowered.kind)], lowered.held)
    worse = lowered.point_of(lowered.held)
    proposals.add(worse, np.zeros(len(lowered.classes.size)))
    assert proposals.mix(1e-6, np.inf) is not None
    assert proposals.cost == pytest.approx(phases.model.objective(begin), rel=1e-4), "nothing new, nothing gained"
    at_cost = proposals.cost
    near = np.zeros(len(lowered.classes.size)), 1e-3
    assert proposals.mix(1e-6, np.inf, near=near) is not None
    assert proposals.cost <= at_cost + 1e-3 * lowered.classes.size.sum()
    assert proposals.mix(1e-6, 0.0) is None, "no time"


def test_an_interior_point_without_an_answer_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, phases = lowered_world(3)
    _, found = relaxed(lowered, phases)
    solve, methods = proposals_module.solve_lp, list[str]()

    def lost(model: Model, method: Method, limits: Limits, **named: Any) -> Any:
        methods.append(method)
        answer = solve(model, method, limits, **named)
        return replace(answer, optimal=False, price=None, x=None) if method == "ipm" else answer

    monkeypatch.setattr(proposals_module, "solve_lp", lost)
    _, again = relaxed(lowered, phases)
    assert set(methods) == {"ipm", "simplex"}
    assert again.point is not None
    assert not again.timed_out
    assert phases.model.violation(again.point) < 1e-5
    assert again.bound == pytest.approx(found.bound, rel=0.05)


def test_what_containers_share_is_relaxed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "COUNTS", 0)
    lowered, phases = lowered_world(1)
    assert is_by_columns(lowered, phases.model, phases.shares)
    second = world(1)
    second.add_goal(MinimizeMovementSpec(), priority=1)
    ranked = lower(second)
    shares = shares_of(ranked, ranked.levels[1].cost)
    assert is_by_columns(ranked, ranked.at(1, [0.0]), shares)
    held = ranked.at(2, [0.0, 1e6])
    assert not is_by_columns(ranked, held, shares), "all containers share what the first goal came to"
    problem = world(1)
    problem.add_dimension("size", 1.0, containers=np.full(len(problem.containers), 20.0))
    problem.add_goal(BalanceSpec(dimension="size"))
    joined = lower(problem)
    assert not is_by_columns(joined, joined.model, shares_of(joined, joined.levels[1].cost))


@pytest.mark.parametrize("seed", range(3))
def test_a_search_from_columns_comes_as_close(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve_portfolio(world(seed), SEARCHED)
    monkeypatch.setattr(columns, "COUNTS", 0)
    found = solve_portfolio(world(seed), SEARCHED)
    again = solve_portfolio(world(seed), SEARCHED)
    assert found.objective[1][0] <= 1.05 * whole.objective[1][0] + 2.0
    assert -np.inf < found.bound[1] <= whole.objective[1][0]
    assert np.array_equal(found.assignment, again.assignment)
