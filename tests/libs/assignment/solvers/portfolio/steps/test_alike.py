"""Counts are alike if their container, entries and costs are the same, and of alike ones a descent tries the best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from libs.assignment.language.arrays import Ints
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.assignment_affinities import AssignmentAffinitiesSpec
from libs.assignment.language.specs.largest_group import LargestGroupSpec
from libs.assignment.language.specs.limit import Limit
from libs.assignment.language.specs.single_group_failure_buffer import SingleGroupFailureBufferSpec
from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.steps.alike import alike
from libs.assignment.solvers.portfolio.steps.descent import Walk
from libs.assignment.solvers.portfolio.steps.exchange import exchange
from libs.assignment.solvers.portfolio.steps.margins import measure
from libs.assignment.solvers.portfolio.steps.network import network_of
from libs.assignment.solvers.portfolio.steps.state import state_of
from tests.libs.assignment.solvers.portfolio.steps.test_descent import Everywhere


def members(of_group: Ints, group_at: Ints) -> set[frozenset[int]]:
    return {frozenset(of_group[a:b].tolist()) for a, b in pairwise(group_at)}


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_by_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, rows = 60, 4
    dense = rng.choice([0.0, 0.0, 1.0, 2.0], (rows, counts + 5))
    cost, container = rng.choice([0.0, 1.0], counts), rng.integers(0, 3, counts)
    of_group, group_at = alike(sp.csc_array(dense), cost, container)
    wanted: dict[tuple[float, ...], set[int]] = {}
    for q in range(counts):
        wanted.setdefault((container[q], cost[q], *dense[:, q]), set()).add(q)
    assert sorted(of_group.tolist()) == list(range(counts))
    assert (np.diff(container[of_group]) >= 0).all(), "the groups of a container lie together"
    assert members(of_group, group_at) == {frozenset(each) for each in wanted.values()}


@pytest.mark.parametrize("counts", [0, 1])
def test_there_may_be_hardly_any_counts(counts: int) -> None:
    of_group, group_at = alike(sp.csc_array((3, counts)), np.zeros(counts), np.zeros(counts, np.int64))
    assert (of_group.tolist(), group_at.tolist()) == (list(range(counts)), list(range(counts + 1)))


def two_halls(colours: int) -> Problem:
    """Return a problem with 16 servers, all in the last container, half of them in each of two halls.

    The first container wants 6 after the loss of any hall, and its largest hall costs. The second likes some colours
    better than others, and the first does not care.
    """
    servers = 16
    problem = Problem(objects=servers, containers=3, initial=[2] * servers)
    problem.add_scope("first", [0, -1, -1], 1)
    problem.add_partition("hall", np.arange(servers) % 2, 2)
    problem.add_dimension("worth", 1.0)
    colour, liking = np.arange(servers) // 2 % colours, np.zeros((colours, 3))
    liking[:, 1] = np.arange(colours) / 10
    problem.add_dimension("liking", 1.0, by_item=("container", colour, liking))
    wanted = SingleGroupFailureBufferSpec(scope="first", partition="hall", dimension="worth", limit=Limit(default=6.0))
    problem.add_goal(wanted, weight=50.0, normalise=False)
    problem.add_goal(LargestGroupSpec(scope="first", partition="hall", dimension="worth"), normalise=False)
    problem.add_goal(AssignmentAffinitiesSpec(dimension="liking"), normalise=False)
    return problem


def tries_in_vain(lowered: Lowered) -> int:
    """Return how many changes one visit of the first container tries if no change saves enough."""
    network = network_of(lowered, lowered.at(1, (0.0,)))
    state = state_of(network, lowered.point_of(lowered.held))
    measure(network, state)
    state.tried[0] = 0
    order, place, opened = np.zeros(1, np.int64), np.zeros(2, np.int64), np.ones(len(lowered.kind), dtype=np.bool_)
    exchange(network, state, order, place, opened, 1e9, 1_000_000)
    assert place.tolist() == [1, 0], "the visit has ended"
    return int(state.tried[0])


def test_what_a_container_does_not_ask_about_costs_no_tries() -> None:
    two, eight = (lower(two_halls(colours)) for colours in (2, 8))
    assert (len(two.classes.size), len(eight.classes.size)) == (4, 16)
    assert tries_in_vain(two) == tries_in_vain(eight) == 3, "both of one hall, one of each, and both of the other"


@pytest.mark.parametrize("colours", [1, 2, 8])
def test_of_alike_counts_those_go_that_others_need_least(colours: int) -> None:
    lowered = lower(two_halls(colours))
    model = lowered.at(1, (0.0,))
    found = Walk(lowered, model).down(lowered.held, 1e-7, Everywhere(lowered), lambda: False)
    best_liked = np.sort(np.arange(16) // 2 % colours / 10)[-4:].sum()
    assert model.objective(lowered.point_of(found)) == pytest.approx(6 - best_liked)
