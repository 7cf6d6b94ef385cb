"""A container leaves all objects of a domain at once, if that saves anything, and else keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio.repair import is_broken
from libs.assignment.solvers.portfolio.steps.descent import Walk
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import network_of
from libs.assignment.solvers.portfolio.steps.state import MOVES_MAX, state_of
from libs.assignment.solvers.portfolio.steps.vacate import OBJECTS_MAX, leavable, vacate
from tests.libs.assignment.solvers.portfolio.steps.test_descent import LEAST, Everywhere, down


def two_blocks(price: float, *, spread: int = 3, free: int = 3) -> Problem:
    """Return a problem with one party that needs six objects. It has `spread` of them in the second block, and pays
    `price` for a second block. `free` objects of the first one are in no party.
    """
    blocks = [0] * (6 - spread) + [1] * spread + [0] * free
    problem = Problem(objects=6 + free, containers=2, initial=[0] * 6 + [1] * free)
    problem.add_scope("party", [0, -1], 1)
    problem.add_partition("block", blocks, 2)
    wanted = CapacitySpec(dimension="count", scope="party", limit=Limit(default=6.0), bound=Bound.MIN)
    problem.add_goal(wanted, weight=1000.0, normalise=False)
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    few = GroupDiversitySpec(partition="block", scope="party", limit=Limit(default=1.0), bound=Bound.MAX)
    problem.add_goal(few, weight=price, normalise=False)
    return problem


def test_a_party_leaves_a_block_that_costs_more_than_its_objects() -> None:
    lowered = lower(two_blocks(price=6.5))
    model = lowered.at(1, (0.0,))
    point = lowered.point_of(down(lowered, model))
    assert model.objective(point) == pytest.approx(6.0), "three leave and three arrive, and each costs 1"


@pytest.mark.parametrize(("price", "free"), [(5.5, 3), (6.5, 2)])
def test_objects_that_cost_more_than_the_block_stay(price: float, free: int) -> None:
    lowered = lower(two_blocks(price, free=free))
    assert (down(lowered, lowered.at(1, (0.0,))) == lowered.held).all()


def crowd(seed: int, *, is_legal: bool = True) -> Problem:
    """Return a problem with four parties that hold objects in five blocks, prefer one or two, and have hard limits."""
    rng = np.random.default_rng(seed)
    held = rng.permutation(np.repeat(np.arange(5), 12)) if is_legal else rng.integers(3, size=60)
    problem = Problem(objects=60, containers=5, initial=held)
    problem.add_scope("party", [0, 1, 2, 3, -1], 4)
    problem.add_partition("block", rng.integers(5, size=60), 5)
    problem.add_partition("hall", rng.integers(3, size=60), 3)
    problem.add_dimension("worth", rng.choice([1.0, 2.0], 60))
    needs = Limit(items=rng.integers(8, 16, 4).astype(float).tolist())
    wanted = CapacitySpec(dimension="worth", scope="party", limit=needs, bound=Bound.MIN)
    problem.add_goal(wanted, weight=100.0, normalise=False)
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    few = GroupDiversitySpec(
        partition="block",
        scope="party",
        limit=Limit(items=[1.0, 1.0, 2.0, 0.0]),
        bound=Bound.MAX,
        filter=Filter(items=[0, 1, 2]),
    )
    problem.add_goal(few, weight=7.0, normalise=False)
    problem.add_constraint(CapacitySpec(dimension="count", limit=Limit(items=[14.0] * 4 + [60.0])))
    return problem


@pytest.mark.parametrize("is_legal", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_state_is_that_of_its_counts_afterwards(seed: int, is_legal: bool) -> None:
    lowered = lower(crowd(seed, is_legal=is_legal))
    model, may = lowered.at(1, (0.0,)), leavable(lowered)
    network, state = network_of(lowered, model), state_of(network_of(lowered, model), lowered.point_of(lowered.held))
    measure(network, state)
    before = network.cost @ state.value
    order, log = np.arange(len(may.column)), np.zeros(MOVES_MAX * OBJECTS_MAX, np.int64)
    opened = np.ones(len(lowered.kind), np.bool_)
    saved = vacate(network, state, may, order, np.zeros(1, np.int64), opened, log, np.zeros(len(log)), LEAST, 10**9)
    assert len(may.column) == 20
    assert opened.all()
    assert saved == pytest.approx(network.cost @ state.value - before, abs=1e-7)
    assert saved <= 0 or not is_legal
    again = state_of(network, lowered.point_of(np.rint(state.value[: len(lowered.kind)]).astype(np.int64)))
    measure(network, again)
    for name in ("value", "x", "more", "less"):
        np.testing.assert_allclose(getattr(state, name), getattr(again, name), atol=1e-7, err_msg=name)
    assert (np.bincount(lowered.kind, state.value[: len(lowered.kind)]) == lowered.classes.size).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_descent_with_blocks_breaks_nothing_and_ends(seed: int) -> None:
    lowered = lower(crowd(seed))
    model = lowered.at(1, (0.0,))
    counts = Walk(lowered, model).down(lowered.held, LEAST, Everywhere(lowered), lambda: False)
    point = lowered.point_of(counts)
    assert model.objective(point) <= model.objective(lowered.point_of(lowered.held))
    assert not is_broken(model, point)
