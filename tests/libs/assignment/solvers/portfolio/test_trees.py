"""Check trees of single containers that go on where they leave much open."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
import pytest

from libs.assignment import GroupCountSpec, Limit, Problem, SingleGroupFailureBufferSpec
from libs.assignment.language.arrays import Floats
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio import trees as module
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.submodel import at_prices, restrict
from libs.assignment.solvers.portfolio.subproblem import Answer, Subproblem
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.portfolio.trees import Trees, largest
from libs.mip.highs import Limits, solve_mip
from libs.mip.model import Model

PARTIES, PRICE = 4, 0.4


class Counting(ThreadPool):
    """A pool that keeps the most nodes of each tree that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[int] = []

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        assert one.search is not None
        self.nodes.append(one.search.nodes_max)
        return super().submit(one, cancelled)


def world(seed: int, objects: int = 160) -> Problem:
    """Return parties that want objects of odd sizes, so that sums that just fit are hard to find."""
    rng, halls = np.random.default_rng(seed), 5
    problem = Problem(objects=objects, containers=PARTIES + 1, initial=[PARTIES] * objects)
    problem.add_scope("party", [*range(PARTIES), -1], PARTIES)
    problem.add_partition("hall", np.arange(objects) % halls, halls)
    problem.add_dimension("worth", rng.choice([0.67, 1.0, 1.31, 1.9], objects))
    needs = np.round(rng.uniform(6.0, 20.0, PARTIES), 2)
    for spec, limit, weight in ((SingleGroupFailureBufferSpec, needs, 50.0), (GroupCountSpec, needs / 8, 1.0)):
        wanted = Limit(items=np.round(limit, 2))
        problem.add_goal(
            spec(scope="party", partition="hall", dimension="worth", limit=wanted), weight=weight, normalise=False
        )
    return problem


def asked(seed: int, pool: ThreadPool) -> tuple[Lowered, Model, Floats, Trees]:
    """Return the trees of all parties, for which an object costs PRICE."""
    lowered = lower(world(seed))
    model = lowered.at(1, (0.0,))
    shares, prices = shares_of(lowered, model.cost), np.zeros(len(model.row_lower))
    prices[: len(lowered.classes.size)] = -PRICE
    x = lowered.point_of(lowered.held)
    found = Trees(lowered, model, shares, prices, x, np.arange(PARTIES), 0.0, pool=pool, until=math.inf, points=True)
    return lowered, model, prices, found


@pytest.fixture
def _one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODES", 1)
    monkeypatch.setattr(module, "NODES_MIN", 1)


@pytest.mark.usefixtures("_one_node")
@pytest.mark.parametrize("seed", range(4))
def test_trees_that_go_on_prove_the_least_cost_of_whole_objects(seed: int) -> None:
    with ThreadPool() as pool:
        lowered, model, prices, found = asked(seed, pool)
        costs, bounds = found.costs.copy(), found.bounds.copy()
        assert (costs > bounds + 0.1).all(), "one node leaves much open"
        found.go_on(100_000, math.inf)
        assert not found.timed_out
    x, shares = lowered.point_of(lowered.held), shares_of(lowered, model.cost)
    price, activity = prices[: len(lowered.classes.size)], model.matrix @ x
    for k in range(PARTIES):
        columns = np.flatnonzero(shares.of(np.array([k])))
        sub = at_prices(lowered, restrict(model, columns, x, activity), price).model
        best = solve_mip(sub, Limits(relative_gap=0.0)).objective
        assert bounds[k] <= found.bounds[k] + 1e-6 <= best + 1e-4
        assert best - 1e-4 <= found.costs[k] <= costs[k] + 1e-6
        assert found.bounds[k] == pytest.approx(best, abs=1e-3)
        assert found.costs[k] == pytest.approx(best, abs=1e-3)


@pytest.mark.usefixtures("_one_node")
def test_points_cost_what_the_trees_say() -> None:
    with ThreadPool() as pool:
        lowered, model, prices, found = asked(1, pool)
        for _ in range(2):
            x = lowered.point_of(lowered.held)
            found.place(x)
            counts = np.rint(x[: len(lowered.kind)])
            shares = shares_of(lowered, model.cost)
            paid = shares.costs(model.cost, x)[:PARTIES]
            paid -= np.bincount(lowered.container, prices[lowered.kind] * counts, PARTIES + 1)[:PARTIES]
            assert found.costs == pytest.approx(paid, abs=1e-4)
            found.go_on(100_000, math.inf)


@pytest.mark.usefixtures("_one_node")
def test_those_that_leave_most_open_share_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MORE_MIN", 50)
    monkeypatch.setattr(module, "MORE_MAX", 80)
    pool = Counting()
    with pool:
        *_, found = asked(2, pool)
        open_ = found.costs - found.bounds
        assert pool.nodes == [1] * PARTIES
        assert (open_ > 0.1).all()
        for nodes, expected in ((49, []), (160, [53] * 3), (120, [60] * 2), (60, []), (70, [70]), (99, [80])):
            pool.nodes.clear()
            before = found.bounds.copy()
            worst = np.argsort(-(found.costs - found.bounds), kind="stable")
            found.go_on(nodes, math.inf)
            assert pool.nodes == expected
            changed = np.flatnonzero(found.bounds > before)
            assert set(changed) <= set(worst[: len(expected)])


def test_largest_leaves_little() -> None:
    values = np.array([1.0, 5.0, 0.0, 3.0, 1.0])
    assert list(largest(values, 0.0)) == [1, 3, 0, 4]
    assert list(largest(values, 1.0)) == [1, 3, 0]
    assert list(largest(values, 2.5)) == [1, 3]
    assert list(largest(values, 10.0)) == []
    assert list(largest(np.zeros(0), 0.0)) == []
