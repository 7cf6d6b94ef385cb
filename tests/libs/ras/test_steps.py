"""Rounding, descent and extraction on their own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.mip.highs import solve_lp
from libs.ras.cost import cost_of
from libs.ras.descent import Descent, marginal_costs
from libs.ras.extraction import extract_targets
from libs.ras.model import build_model
from libs.ras.prices import read_prices
from libs.ras.problem import group_servers
from libs.ras.rounding import round_counts
from tests.regions import random_region, region

MANY = settings(max_examples=30, deadline=None, derandomize=True)
SEEDS = st.integers(0, 10**6)


def some_problem(seed, servers=120, reservations=5):
    rng = np.random.default_rng(seed)
    return group_servers(random_region(rng, servers, reservations, msbs=4, types=2)), rng


@MANY
@given(SEEDS)
def test_rounding_stays_within_floors_and_ceilings_of_every_sum(seed):
    problem, _ = some_problem(seed)
    f = solve_lp(build_model(problem).model).x[: len(problem.reservation)]
    counts = round_counts(problem, f)
    for key in (
        np.arange(len(f)),
        problem.reservation * problem.msbs + problem.msb,
        problem.reservation,
        problem.place,
    ):
        whole, part = np.bincount(key, counts), np.bincount(key, f)
        assert (whole >= np.floor(part - 1e-4)).all()
        assert (whole <= np.ceil(part + 1e-4)).all()
    assert (problem.used(counts) <= problem.supply).all()


def test_rounding_what_overbooks_is_legal():
    problem, rng = some_problem(1)
    counts = round_counts(problem, problem.most * rng.uniform(0, 2, len(problem.most)))
    assert (problem.used(counts) <= problem.supply).all()
    assert (counts <= problem.most).all()


@MANY
@given(SEEDS)
def test_marginal_costs_are_what_one_server_changes(seed):
    problem, rng = some_problem(seed, 40, 3)
    counts = rng.integers(0, problem.most + 1)
    base = cost_of(problem, counts).total
    for r in range(problem.reservations):
        mine = slice(problem.first[r], problem.first[r + 1])
        add, remove = marginal_costs(problem, r, mine, counts[mine])
        for j, up, down in zip(range(mine.start, mine.stop), add, remove, strict=True):
            for change, told in ((1, up), (-1, down)):
                if np.isfinite(told):
                    after = counts.copy()
                    after[j] += change
                    assert cost_of(problem, after).total - base == pytest.approx(told, abs=1e-6)


@MANY
@given(SEEDS)
def test_descent_only_goes_down_and_ends_where_no_step_helps(seed):
    problem, _ = some_problem(seed)
    start = problem.held
    descent = Descent(problem, start)
    descent.run(10_000)
    assert cost_of(problem, descent.counts).total <= cost_of(problem, start).total + 1e-9
    assert (problem.used(descent.counts) + descent.free == problem.supply).all()
    assert (descent.free >= 0).all()
    assert descent.run(10_000) == 0


@MANY
@given(SEEDS)
def test_excess_over_the_relaxation_adds_up_to_the_gap(seed):
    problem, _ = some_problem(seed)
    model = build_model(problem)
    relaxed = solve_lp(model.model)
    prices = read_prices(problem, model, relaxed)
    descent = Descent(problem, problem.held)
    descent.run(10_000)
    cost = cost_of(problem, descent.counts)
    gap = prices.excess(cost.by_reservation, descent.counts).sum() + prices.supply @ descent.free
    assert gap == pytest.approx(cost.total - relaxed.objective, rel=1e-3, abs=0.05 * max(1.0, cost.total / 100))


@MANY
@given(SEEDS)
def test_extraction_binds_exactly_the_counts(seed):
    rng = np.random.default_rng(seed)
    snapshot = random_region(rng, 150, 4, msbs=4, types=2)
    problem = group_servers(snapshot)
    counts, left = np.zeros(len(problem.reservation), np.int64), problem.supply.copy()
    for j in rng.permutation(len(counts)):
        counts[j] = rng.integers(0, min(problem.most[j], left[problem.place[j]]) + 1)
        left[problem.place[j]] -= counts[j]
    target = extract_targets(snapshot, problem, counts)
    made = np.zeros((len(snapshot.reservations), len(problem.supply)), np.int64)
    up = snapshot.servers.available & (target >= 0)
    place = snapshot.server_msb.astype(int) * 2 + snapshot.servers.hardware_type
    np.add.at(made, (target[up], place[up]), 1)
    assert np.array_equal(made[problem.reservation, problem.place], counts)
    assert made.sum() == counts.sum()


def test_extraction_fills_racks_evenly():
    snapshot = region(
        msb_datacenter=(0,),
        racks_per_msb=3,
        servers=[(k, 0) for k in (0, 0, 0, 1, 1, 2)],
        capacity=[3],
        survives=[False],
    )
    problem = group_servers(snapshot)
    target = extract_targets(snapshot, problem, np.array([3]))
    assert sorted(snapshot.servers.rack[target == 0].tolist()) == [0, 1, 2]
