"""Check the relaxation's prices against another linear program, prices for groups, and the prices that callers get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.solvers.price.availability import offer_of
from libs.assignment.solvers.price.recognise import read_market
from libs.assignment.solvers.price.relaxation import relax
from libs.assignment.solvers.price.settings import PriceSettings
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.price.state import start
from tests.libs.assignment.markets import broken, placement


def optimum(problem: Problem) -> tuple[float, dict[tuple[float, ...], np.ndarray]]:
    """Return the value of the relaxation over kinds of containers, object by object, and prices by a kind's
    capacity.
    """
    names = [constraint.spec.dimension for constraint in problem.constraints if hasattr(constraint.spec, "dimension")]
    need = np.stack([problem.dimensions[name].objects for name in names], axis=1)
    room = np.stack([problem.dimensions[name].capacities["container"] for name in names], axis=1)[:-1]
    kinds, number = np.unique(room, axis=0, return_counts=True)
    o, k = np.nonzero((need[:, None, :] <= kinds[None]).all(axis=2))
    rows = np.zeros((len(need) + kinds.size, len(o)))
    rows[o, np.arange(len(o))] = 1.0
    for d in range(len(names)):
        rows[len(need) + k * len(names) + d, np.arange(len(o))] = need[o, d]
    limit = np.concatenate([np.ones(len(need)), (kinds * number[:, None]).ravel()])
    worth = problem.dimensions["worth"].objects
    found = linprog(-worth[o], A_ub=rows, b_ub=limit, bounds=(0, 1), method="highs")
    prices = -found.ineqlin.marginals[len(need) :].reshape(kinds.shape)
    return -found.fun, {tuple(kind): price for kind, price in zip(kinds.tolist(), prices, strict=True)}


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bound_and_prices_are_those_of_the_linear_program(seed: int, special: bool) -> None:
    problem = placement(seed, objects=500, containers=15, special=special)
    value, prices = optimum(problem)
    market = read_market(Compiled.of(problem)).strict.market
    offer = offer_of(market, start(market, 0), 0.0)
    found = relax(market, offer, np.arange(500))
    assert value <= found.bound + 1e-6
    assert found.bound <= value * 1.004
    paid = sum(float((price * market.capacity[c]).sum()) for c, price in _by_container(market, prices))
    ours = sum(float((found.price[market.pool[market.shape[c]]] * market.capacity[c]).sum()) for c in range(15))
    assert ours == pytest.approx(paid, rel=0.05)


def _by_container(market, prices):
    for c in range(15):
        nearest = min(prices, key=lambda kind: np.abs(np.array(kind) - market.capacity[c]).sum())
        yield c, prices[nearest]


def test_prices_of_others_like_them_save_steps_and_say_the_same() -> None:
    market = read_market(Compiled.of(placement(4, objects=3000, containers=60, over=3.0))).strict.market
    offer = offer_of(market, start(market, 0), 0.0)
    before, now = np.arange(0, 3000, 2), np.arange(1, 3000, 2)
    cold = relax(market, offer, now)
    near = relax(market, offer, now, relax(market, offer, before).price)
    assert near.steps < cold.steps
    assert near.bound == pytest.approx(cold.bound, rel=2e-3)
    far = relax(market, offer, now, np.full_like(cold.price, 1e-9))
    assert far.bound == pytest.approx(cold.bound, rel=2e-3)


def test_scarce_dimensions_cost_and_others_are_free() -> None:
    problem = Problem(objects=100, containers=6, initial=[5] * 100)
    placed = Filter(but=[5])
    rng = np.random.default_rng(0)
    problem.add_dimension("scarce", rng.uniform(0.5, 1.5, 100), containers=[10.0] * 5 + [0.0])
    problem.add_dimension("plenty", 1.0, containers=[1000.0] * 5 + [0.0])
    for name in ("scarce", "plenty"):
        problem.add_constraint(CapacitySpec(dimension=name, filter=placed))
    problem.add_goal(MaximizeAllocationSpec(filter=placed), normalise=False)
    prices = solve_price(problem).prices
    assert prices is not None
    found = prices.of_container(0)
    assert 0.5 < found["scarce"] < 2.0
    assert found["plenty"] == pytest.approx(0.0, abs=1e-6)
    assert prices.of_container(5) == {}
    paid = prices.cost(np.array([[2.0, 3.0], [2.0, 3.0]]), np.array([0, 5]))
    assert paid.tolist() == pytest.approx([2 * found["scarce"] + 3 * found["plenty"], 0.0])


def crowded(seed: int) -> Problem:
    """Return two groups of 30 on 10 containers, one object each: two thirds of them never fit."""
    rng = np.random.default_rng(seed)
    problem = Problem(objects=160, containers=11, initial=[10] * 160)
    placed = Filter(but=[10])
    problem.add_dimension("r", rng.uniform(0.5, 2.0, 160), containers=[14.0] * 10 + [0.0])
    problem.add_constraint(CapacitySpec(dimension="r", filter=placed))
    problem.add_dimension("worth", np.where(np.arange(160) < 60, 3.0, 1.0) * rng.uniform(0.9, 1.1, 160))
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed), normalise=False)
    group = np.where(np.arange(160) < 60, np.arange(160) // 30, -1)
    problem.add_partition("service", group, ["web", "db"])
    problem.add_constraint(GroupCountSpec(partition="service", limit=Limit(default=1.0), filter=placed))
    return problem


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_bind_get_prices_and_the_bound_is_tighter(seed: int) -> None:
    problem = crowded(seed)
    alone = PriceSettings(polish=False)
    without = solve_price(problem, settings=alone)
    priced = solve_price(problem, settings=replace(alone, group_prices=True))
    assert without.prices is not None
    assert priced.prices is not None
    assert without.prices.groups == ()
    assert priced.prices.groups == ("web", "db")
    assert (priced.prices.group_price > 0.5).all()
    assert priced.bound[1] > without.bound[1] + 1.0
    assert priced.bound[1] <= priced.objective[1][0] + 1e-6
    assert priced.objective[1][0] <= without.objective[1][0] * 0.97
    assert broken(problem, priced.assignment) == 0


def test_groups_that_do_not_bind_are_not_priced() -> None:
    problem = placement(1, jobs=True)
    priced = solve_price(problem, settings=PriceSettings(group_prices=True))
    assert priced.prices is not None
    assert priced.prices.groups == ()
    assert (priced.assignment == solve_price(problem).assignment).all()
