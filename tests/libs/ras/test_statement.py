"""RAS in specs has, for any binding, the value of its definition."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment.incremental.program import compile_problem
from libs.domain.fleet import FREE
from libs.ras.evaluate import coverage_of, evaluate
from libs.ras.statement import OBJECTIVE, PENALTY, state_region
from tests.builders.random_region import random_region

SMALL = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def sum_of_goals(problem, assignment, priority):
    goals = [goal for goal in problem.goals if goal.priority == priority]
    return sum(goal.weight * goal.cost.value(assignment)[0, 0] / goal.scale for goal in goals)


def fixing(snapshot, *, first):
    return replace(snapshot, policy=replace(snapshot.policy, fix_first=first))


def random_binding(rng, snapshot):
    """Return servers bound at random, except for servers outside the problem, which stay."""
    binding = rng.integers(FREE, len(snapshot.reservations), len(snapshot.servers)).astype(np.int32)
    return np.where(snapshot.servers.lasting, binding, np.maximum(snapshot.servers.target, FREE)).astype(np.int32)


def with_cost_units(rng, snapshot):
    return replace(snapshot, cost_units=rng.choice([0.2, 1.0, 7.0], len(snapshot.hardware_types)))


def with_leaving(rng, snapshot):
    return replace(snapshot, servers=replace(snapshot.servers, leaving=rng.random(len(snapshot.servers)) < 0.1))


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_its_value_is_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    snapshot = with_leaving(rng, random_region(rng, int(rng.integers(0, 40)), int(rng.integers(1, 6)), msbs=5, types=3))
    if seed % 2:
        snapshot = with_cost_units(rng, snapshot)
    stated = state_region(snapshot, server_cost=0.0)
    for _ in range(3):
        binding = random_binding(rng, snapshot)
        score = evaluate(snapshot, binding)
        assignment = stated.assignment(binding)
        assert (stated.binding(assignment, snapshot.servers.target) == binding).all()
        assert sum_of_goals(stated.problem, assignment, PENALTY) == pytest.approx(score.penalty)
        objective = score.total_without_rack - score.penalty
        assert sum_of_goals(stated.problem, assignment, OBJECTIVE) == pytest.approx(objective, abs=1e-6)


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_its_constraints_are_eligibility_and_no_regression(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, int(rng.integers(1, 40)), int(rng.integers(1, 6)))
    if seed % 2:
        snapshot = with_cost_units(rng, snapshot)
    goal = state_region(snapshot)
    eligible, kept = goal.problem.constraints
    present = np.maximum(snapshot.servers.target, FREE)

    def penalties(binding):
        covered = coverage_of(snapshot, binding)
        policy = snapshot.policy
        return policy.shortfall_cost * covered.shortfall + policy.affinity_cost * covered.off_affinity.sum(1)

    for binding in (present, random_binding(rng, snapshot)):
        assignment = goal.assignment(binding)
        rru = snapshot.reservations.rru[binding, snapshot.servers.hardware_type]
        wrong = snapshot.servers.lasting & (binding >= 0) & (binding != snapshot.servers.target) & (rru <= 0)
        assert eligible.excess[0].value(assignment).sum() == wrong.sum()
        worse = penalties(binding) > penalties(present) + 2e-3
        assert ((kept.excess[0].value(assignment)[:, 0] > 1e-6) == worse).all()
    assert eligible.excess[0].value(goal.assignment(present)).sum() == 0


def test_its_graph_keeps_what_specs_share_once():
    rng = np.random.default_rng(3)
    snapshot = random_region(rng, 60, 4, msbs=6)
    plain, goal = (compile_problem(state_region(fixing(snapshot, first=first)).problem) for first in (False, True))
    assert len(goal.graph.cells) == len(plain.graph.cells) + 1  # the limit reads the penalties' own cells
    largest = [cell for cell in goal.graph.cells if cell.over is not None]
    assert len(largest) == 1  # shared by the buffer and the capacity
