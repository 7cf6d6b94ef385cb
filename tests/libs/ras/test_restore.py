"""Counts with a worsened reservation give it back its servers, and keep the rest."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.assignment.model.lower import lower
from libs.assignment.solvers.portfolio.containers_of import shares_of
from libs.assignment.solvers.portfolio.repair import restored
from libs.plan_check.regression import check_regression
from libs.ras.statement import state_region
from tests.builders.random_region import random_region

SOME = settings(max_examples=30, deadline=None, derandomize=True)


def lowered_region(snapshot):
    statement = state_region(snapshot)
    lowered = lower(statement.problem)
    model = lowered.weighted((0.0, 1.0, 1.0))
    return statement, lowered, model, shares_of(lowered, model.cost)


def targets(snapshot, statement, lowered, counts):
    return statement.binding(lowered.assignment(counts), snapshot.servers.target)


def with_rest_free(lowered, free, counts):
    """Return whole counts of every class: servers without a reservation are free."""
    rest = np.flatnonzero(lowered.container == free)
    counts[rest] = 0
    counts[rest] = (lowered.classes.size - np.bincount(lowered.kind, counts, len(lowered.classes.size)))[
        lowered.kind[rest]
    ]
    return counts


def any_counts(lowered, free, random):
    """Return random whole counts that fit into the places, regardless of reservations."""
    counts, left = np.zeros(len(lowered.kind), np.int64), lowered.classes.size.copy()
    for n in random.permutation(np.flatnonzero(lowered.container != free)):
        counts[n] = random.integers(0, min(int(lowered.model.upper[n]), left[lowered.kind[n]]) + 1)
        left[lowered.kind[n]] -= counts[n]
    return with_rest_free(lowered, free, counts)


@SOME
@given(st.integers(0, 2**32 - 1))
def test_nobody_is_worse_off_than_now_and_all_fit(seed):
    random = np.random.default_rng(seed)
    snapshot = random_region(random, 40, 5)
    statement, lowered, model, shares = lowered_region(snapshot)
    counts = any_counts(lowered, statement.free, random)
    was = check_regression(snapshot, targets(snapshot, statement, lowered, counts))
    found = restored(lowered, model, shares, counts, lowered.held)
    assert check_regression(snapshot, targets(snapshot, statement, lowered, found)) == []
    real = lowered.container != statement.free
    assert ((found >= 0) & (found <= np.maximum(counts, lowered.held)))[real].all()
    assert (np.bincount(lowered.kind, found) == lowered.classes.size).all()
    if not was:
        assert (found == counts).all()


@SOME
@given(st.integers(0, 2**32 - 1))
def test_what_has_nothing_to_do_with_it_stays(seed):
    random = np.random.default_rng(seed)
    statement, lowered, model, shares = lowered_region(random_region(random, 60, 3))
    counts = lowered.held.copy()
    counts[lowered.container == 0] = 0
    found = restored(lowered, model, shares, with_rest_free(lowered, statement.free, counts), lowered.held)
    others = (lowered.container != 0) & (lowered.container != statement.free)
    assert (found[others] == lowered.held[others]).all(), "all of what is held fits at once"
