"""Counts in which somebody is worse off than now get them back what they hold, and keep the rest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libs.ras.cost import cost_of
from libs.ras.goal import goal_of
from libs.ras.problem import group_servers
from libs.ras.restore import without_regression
from tests.regions import random_region


def any_counts(problem, random):
    """Whole counts that the places have room for, drawn without regard to anybody."""
    counts, left = np.zeros(len(problem.reservation), np.int64), problem.supply.copy()
    for n in random.permutation(len(counts)):
        counts[n] = random.integers(0, min(problem.most[n], left[problem.place[n]]) + 1)
        left[problem.place[n]] -= counts[n]
    return counts


@given(st.integers(0, 2**32 - 1))
def test_nobody_is_worse_off_than_now_and_all_fit(seed):
    random = np.random.default_rng(seed)
    goal = goal_of(group_servers(random_region(random, 40, 5)))
    counts = any_counts(goal, random)
    penalty = cost_of(goal, counts).penalty_by_reservation
    restored = without_regression(goal, counts)
    limit = goal.penalty_most + goal.penalty_slack
    assert (cost_of(goal, restored).penalty_by_reservation <= limit).all()
    assert ((restored >= 0) & (restored <= np.maximum(counts, goal.held))).all()
    assert (np.bincount(goal.place, restored, len(goal.supply)) <= goal.supply).all()
    if (penalty <= limit).all():
        assert (restored == counts).all()


@given(st.integers(0, 2**32 - 1))
def test_what_has_nothing_to_do_with_it_stays(seed):
    random = np.random.default_rng(seed)
    goal = goal_of(group_servers(random_region(random, 60, 3)))
    counts = goal.held.copy()
    counts[goal.reservation == 0] = 0
    restored = without_regression(goal, counts)
    others = goal.reservation != 0
    assert (restored[others] == goal.held[others]).all(), "all of what is held fits at once"
