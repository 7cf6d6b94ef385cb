"""A change of several counts at once has the cost of its definition, whichever of them lead a maximum."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.steps.change import cost_of, drop, keep
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import Network, network_of
from libs.assignment.solvers.portfolio.steps.state import MOVES_MAX, State, borrow_network, borrow_state, state_of
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.steps.test_descent import cost_after


@numba.njit
def costs(n: Network, s: State, counts: Ints, amounts: Floats, made: Ints) -> Floats:
    """Return the cost of each change, (M,): counts and amounts (M, MOVES_MAX). Those with `made` (M,) are kept."""
    n, s = borrow_network(n), borrow_state(s)
    found = np.zeros(len(counts))
    for k in range(len(counts)):
        for i in range(MOVES_MAX):
            s.move[i], s.amount[i] = counts[k, i], amounts[k, i]
        found[k] = cost_of(n, s, MOVES_MAX)
        if made[k] and np.isfinite(found[k]):
            keep(n, s)
        else:
            drop(n, s)
    return found


def halls(seed: int) -> Problem:
    """Return a problem with 30 servers of five halls and three sizes, in two parties that want some after any loss."""
    rng = np.random.default_rng(seed)
    problem = Problem(objects=30, containers=3, initial=rng.integers(0, 3, 30))
    problem.add_scope("party", [0, 1, -1], 2)
    problem.add_partition("hall", rng.integers(0, 5, 30), 5)
    problem.add_dimension("worth", rng.choice([0.5, 1.0, 2.0], 30))
    wanted = SingleGroupFailureBufferSpec(scope="party", partition="hall", dimension="worth", limit=Limit(default=9.0))
    problem.add_goal(wanted, weight=50.0, normalise=False)
    problem.add_goal(LargestGroupSpec(scope="party", partition="hall", dimension="worth"), normalise=False)
    return problem


def assert_costs(lowered: Lowered, model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = network_of(lowered, model)
    state = state_of(network, lowered.point_of(lowered.held))
    measure(network, state)
    changes, now = 200, lowered.held.copy()
    counts = np.array([rng.choice(len(now), MOVES_MAX, replace=False) for _ in range(changes)])
    amounts = rng.choice([-1.0, 1.0], counts.shape)
    made = rng.random(changes) < 0.2
    found = costs(network, state, counts, amounts, made.astype(np.int64))
    for k in range(changes):
        change = [(int(q), int(by)) for q, by in zip(counts[k], amounts[k], strict=True)]
        wanted = cost_after(lowered, model, now, change)
        assert found[k] == pytest.approx(wanted, abs=1e-6), (k, change)
        if made[k] and np.isfinite(wanted):
            for q, by in change:
                now[q] += by


@pytest.mark.parametrize("seed", range(6))
def test_several_counts_at_once_cost_what_they_cost_by_definition(seed: int) -> None:
    lowered = lower(halls(seed))
    assert_costs(lowered, lowered.at(1, (0.0,)), seed)
