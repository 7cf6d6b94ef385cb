"""Check bounds in which containers take whole objects."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from libs.assignment import (
    BalanceSpec,
    GroupCountSpec,
    Limit,
    Limits,
    Problem,
    SingleGroupFailureBufferSpec,
    StoppedBy,
    solve,
)
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio import phases, trees, unpaid
from libs.assignment.solvers.portfolio import whole_bound as module
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.neighbourhoods import Search
from libs.assignment.solvers.portfolio.phases import Phases
from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.submodel import at_prices, restrict
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.watch import Clock
from libs.assignment.solvers.portfolio.whole_bound import capped, whole_bound, whole_least
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.highs import Limits as MipLimits
from libs.mip.highs import solve_lp, solve_mip
from tests.libs.assignment.solvers.portfolio.test_joint import ordered
from tests.libs.assignment.solvers.portfolio.test_solver import PARTIES, world

SEARCHED = Limits(exact_columns_max=0)


def bounds(problem: Problem, price_factor: float = 1.0) -> tuple[float, float, float]:
    """Return the bound of fractions, the bound of whole objects, and the least cost of whole objects."""
    lowered = lower(problem)
    model = lowered.at(1, (0.0,))
    shares = shares_of(lowered, model.cost)
    relaxation = relax(lowered, model)
    assert relaxation.rows is not None
    with ThreadPool() as pool:
        found = whole_bound(
            lowered,
            model,
            shares,
            relaxation.rows * price_factor,
            lowered.point_of(lowered.held),
            pool=pool,
            until=math.inf,
        )
    assert not found.timed_out
    return relaxation.bound, found.bound, solve_mip(model, MipLimits(relative_gap=0.0)).objective


@pytest.mark.parametrize("seed", range(12))
def test_it_is_never_above_the_best_answer_and_never_below_the_bound_of_fractions(seed: int) -> None:
    fractions, whole, best = bounds(world(seed, objects=40))
    assert fractions - 1e-6 <= whole <= best + 1e-4


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
def test_any_prices_give_a_bound(seed: int, factor: float) -> None:
    _, whole, best = bounds(world(seed, objects=40), factor)
    assert whole <= best + 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_a_container_costs_at_least_its_whole_objects(seed: int) -> None:
    lowered = lower(world(seed, objects=40))
    model = lowered.at(1, (0.0,))
    shares, relaxation, x = shares_of(lowered, model.cost), relax(lowered, model), lowered.point_of(lowered.held)
    assert relaxation.rows is not None
    chosen = np.arange(PARTIES)
    with ThreadPool() as pool:
        least, timed_out = whole_least(lowered, model, shares, relaxation.rows, x, chosen, pool=pool, until=math.inf)
    assert not timed_out
    price, activity = relaxation.rows[: len(lowered.classes.size)], model.matrix @ x
    for k, found in zip(chosen, least, strict=True):
        columns = np.flatnonzero(shares.of(chosen[k : k + 1]))
        sub = at_prices(lowered, restrict(model, columns, x, activity), price).model
        best = solve_mip(sub, MipLimits(relative_gap=0.0)).objective
        assert solve_lp(sub).objective - 1e-4 <= found <= best + 1e-4


@pytest.mark.parametrize("counts_of_node", [1, 10**9])
def test_trees_at_prices_of_zero_may_have_more_nodes(counts_of_node: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "COUNTS_OF_NODE", counts_of_node)
    lowered = lower(world(1, objects=40))
    model, x, most = lowered.at(1, (0.0,)), lowered.point_of(lowered.held), []
    shares, pool, chosen = shares_of(lowered, model.cost), ThreadPool(), np.array([0])
    asked = pool.submit
    monkeypatch.setattr(pool, "submit", lambda one, stop: most.append(one.search.nodes_max) or asked(one, stop))
    for price in (0.0, 1e-9):
        prices = np.full(len(model.row_lower), price)
        whole_least(lowered, model, shares, prices, x, chosen, pool=pool, until=math.inf)
    assert most == [max(len(lowered.kind) // counts_of_node, 50), 50]


def test_a_penalty_that_nobody_avoids_is_no_excess(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cuts, fractions do not pay it."""
    monkeypatch.setattr("libs.assignment.model.lower.with_rounding_cuts", lambda model, **_: model)
    lowered = lower(tiny())
    phases = Phases(lowered, lowered.at(1, (0.0,)), PortfolioLimits(exact_columns_max=0), 0, Clock(60.0), ThreadPool())
    relaxation = relax(lowered, phases.model)
    counts = lowered.counts(np.asarray(solve(lowered.problem, solver="portfolio").assignment))
    search = Search(lowered, phases.model, phases.shares, relaxation, counts, np.random.default_rng(0))
    before = search.excess.copy()
    assert before.max() > 0.1
    phases._raise_least(search)
    assert np.array_equal(search.excess, before), "no container pays a penalty"
    monkeypatch.setattr(unpaid, "DEAR", 0.0)
    phases._raise_least(search)
    assert search.excess.max() < 0.2 * before.max()
    assert (search.excess >= 0).all()


def tiny(needs: float = 0.5) -> Problem:
    """Return two parties that need less than one object each, of which fractions would be enough."""
    problem = Problem(objects=6, containers=3, initial=[2] * 6)
    problem.add_scope("party", [0, 1, -1], 2)
    problem.add_partition("hall", [0, 0, 1, 1, 2, 2], 3)
    problem.add_dimension("worth", 1.0)
    wanted = Limit(items=[needs, needs])
    problem.add_goal(
        SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=wanted),
        weight=50.0,
        normalise=False,
    )
    problem.add_goal(
        GroupCountSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=needs)), normalise=False
    )
    return problem


@pytest.mark.parametrize(("cuts", "paid"), [(False, 0.0), (True, 2.0)])
def test_what_needs_less_than_an_object_pays_for_whole_ones(
    cuts: bool, paid: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With cuts, fractions pay all of it already."""
    if not cuts:
        monkeypatch.setattr("libs.assignment.model.lower.with_rounding_cuts", lambda model, **_: model)
    fractions, whole, best = bounds(tiny())
    assert fractions == pytest.approx(paid, abs=1e-5)
    assert whole == pytest.approx(best, abs=1e-3)
    assert best == pytest.approx(2.0), "each has an object in two halls, and half an object too many in each"


def test_an_answer_that_needs_whole_objects_is_proven_without_neighbourhoods() -> None:
    found = solve(tiny(), SEARCHED, solver="portfolio")
    assert found.stopped_by is StoppedBy.OPTIMAL
    assert found.tries == 0
    assert found.bound[1] == pytest.approx(found.objective[1][0], abs=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_of_priorities_in_whole_objects_hold(seed: int) -> None:
    problem = ordered(seed, objects=40)
    exact = solve(problem, Limits(nodes_max=20_000), solver="mip")
    found = solve(problem, SEARCHED, solver="portfolio", seed=seed)
    assert exact.stopped_by is StoppedBy.OPTIMAL
    assert found.bound[1] <= exact.objective[1][0] + 1e-4
    if found.objective[1][0] <= exact.objective[1][0] + 1e-6:
        assert found.bound[2] <= exact.objective[1][1] + 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_what_each_container_may_pay_leaves_out_no_answer(seed: int) -> None:
    """The best answer, and any other that costs less than a given one, keeps the narrower bounds."""
    lowered = lower(world(seed, objects=40))
    model = lowered.at(1, (0.0,))
    shares = shares_of(lowered, model.cost)
    best, held = solve_mip(model, MipLimits(relative_gap=0.0)), lowered.point_of(lowered.held)
    assert best.x is not None
    none = np.zeros(len(model.row_lower))
    with ThreadPool() as pool:
        found = whole_bound(lowered, model, shares, none, held, pool=pool, until=math.inf)
    for point in (best.x, held):
        narrow = capped(model, shares, model.cost, found.room(model.objective(point)))
        assert (narrow.upper >= best.x - 1e-4).all()
        assert (narrow.upper >= point - 1e-4).all()
        assert (narrow.upper <= model.upper).all()
    narrow = capped(model, shares, model.cost, found.room(best.objective))
    assert narrow.upper.sum() < model.upper.sum()


def test_no_bound_is_so_narrow_that_a_solver_loses_points() -> None:
    """Rounding leaves a room of 1e-9. HiGHS called points infeasible where it scaled that to 1."""
    lowered = lower(world(1, objects=40))
    model = lowered.at(1, (0.0,))
    shares = shares_of(lowered, model.cost)
    narrow = capped(model, shares, model.cost, np.full(PARTIES + 1, 1e-9))
    less = narrow.upper < model.upper
    assert less.any()
    assert (narrow.upper - narrow.lower)[less].min() == pytest.approx(trees.NARROWEST)
    cheap = trees._cheaper(model, np.where(model.integer, 0.0, 1e3), 1e-6)
    less = cheap.upper < model.upper
    assert less.any()
    assert (cheap.upper - cheap.lower)[less].min() == pytest.approx(trees.NARROWEST)


def test_containers_that_share_more_than_objects_are_left_alone() -> None:
    problem = world(3, objects=40)
    problem.add_goal(BalanceSpec(dimension="worth"))
    lowered = lower(problem)
    model = lowered.at(1, (0.0,))
    shares, relaxation = shares_of(lowered, model.cost), relax(lowered, model)
    assert not shares.separable
    assert relaxation.rows is not None
    with ThreadPool() as pool:
        found = whole_bound(
            lowered, model, shares, relaxation.rows, lowered.point_of(lowered.held), pool=pool, until=math.inf
        )
    assert found.bound == pytest.approx(relaxation.bound, abs=1e-6)


def test_without_time_it_is_the_bound_of_fractions() -> None:
    lowered = lower(tiny())
    model = lowered.at(1, (0.0,))
    relaxation = relax(lowered, model)
    assert relaxation.rows is not None
    with ThreadPool() as pool:
        found = whole_bound(
            lowered,
            model,
            shares_of(lowered, model.cost),
            relaxation.rows,
            lowered.point_of(lowered.held),
            pool=pool,
            until=time.perf_counter() - 1.0,
        )
    assert found.timed_out
    assert found.bound == pytest.approx(relaxation.bound, abs=1e-6)


def test_the_dearest_containers_are_chosen_and_the_rest_is_left() -> None:
    lowered = lower(world(1))
    shares = shares_of(lowered, lowered.levels[1].cost)
    lowered = replace(lowered, container=np.repeat(np.arange(7), [4, 2, 8, 2, 1, 2, 9]))
    slack = np.array([5.0, 0.1, 9.0, 0.2, 0.0, 3.0, 100.0])
    assert module._dearest(lowered, shares, slack.copy(), 0.5, None).tolist() == [2, 0, 5], "the dearest comes first"
    assert module._dearest(lowered, shares, slack.copy(), 0.5, 12).tolist() == [5, 0], "more slack for each count"
    assert module._largest_first(lowered, np.array([5, 0, 2])).tolist() == [2, 0, 5]


def test_a_caller_may_do_without_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = world(0, objects=40)
    fractions, *_ = bounds(problem)
    raised = solve(problem, SEARCHED, solver="portfolio")
    monkeypatch.setattr(phases, "whole_bound", None)  # nothing may call it
    plain = solve(problem, replace(SEARCHED, whole_bound=False), solver="portfolio")
    assert plain.objective == raised.objective
    assert plain.bound[1] == pytest.approx(fractions)
    assert plain.bound[1] < raised.bound[1]
