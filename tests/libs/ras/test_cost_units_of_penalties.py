"""The price of shortfall counts cost units, so the unit that an owner chooses for its RRU decides nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.policy import RegionPolicy
from libs.plan_check.check import check_plan
from libs.plan_check.regression import penalties
from libs.ras.evaluate import costs_by_reservation, coverage_of, evaluate
from libs.ras.explain.deciders import decide
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import random_region, region

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
TIMES = [2.0, 10.0, 0.1]


def in_another_unit(snapshot, row, times):
    """Return the snapshot in which the owner of one reservation counts `times` as many RRU for the same servers."""
    q = snapshot.reservations
    factor = np.where(np.arange(len(q)) == row, times, 1.0)
    return replace(
        snapshot,
        reservations=replace(q, capacity_rru=q.capacity_rru * factor, rru=q.rru * factor[:, None]),
    )


def crowded(seed, *, fix_first=True):
    """Return a region with about half of the servers that its reservations ask for, with cost units."""
    rng = np.random.default_rng(seed)
    found = random_region(rng, int(rng.integers(6, 16)), 3, types=2, fill=2.0)
    rru = found.reservations.rru.copy()
    rru[:, 0] = np.maximum(rru[:, 0], 0.5)  # each may use some type
    return replace(
        found,
        policy=RegionPolicy(fix_first=fix_first, surplus_cost=0.0),
        reservations=replace(found.reservations, rru=rru),
        cost_units=rng.choice([0.5, 1.0, 3.0], 2),
    )


@pytest.mark.parametrize("columns", [0, 2000])
@pytest.mark.parametrize("times", TIMES)
def test_more_rru_for_the_same_servers_win_no_server(times, columns):
    # Five servers for two reservations of four. The first has the higher class, and the second counts more RRU.
    snapshot = region(
        msb_datacenter=(0,),
        servers=[(0, 0)] * 5,
        capacity=[4, 4],
        survives=[False, False],
        priority=[3, 2],
        cost_units=[1.0],
    )
    found = plan_target_bindings(in_another_unit(snapshot, 1, 20 * times), Limits(exact_columns_max=columns))
    assert np.bincount(found.plan.target, minlength=2).tolist() == [4, 1]
    assert found.report.as_dict()["short_by_priority_cost_units"] == {"2": pytest.approx(3.0)}


@FEW
@given(st.integers(0, 2**32 - 1), st.sampled_from(TIMES), st.booleans())
def test_the_unit_of_a_reservation_does_not_change_which_plans_are_best(seed, times, fix_first):
    snapshot = crowded(seed, fix_first=fix_first)
    other = in_another_unit(snapshot, seed % 3, times)
    plans = [plan_target_bindings(one, Limits(relative_gap=0.0)).plan for one in (snapshot, other)]
    for binding in (plan.target for plan in plans):
        was, now = evaluate(snapshot, binding), evaluate(other, binding)
        assert now.penalty == pytest.approx(was.penalty)
        assert now.total == pytest.approx(was.total)
        assert costs_by_reservation(other, binding) == pytest.approx(costs_by_reservation(snapshot, binding))
        assert penalties(other, binding) == pytest.approx(penalties(snapshot, binding))
    best, found = (evaluate(snapshot, plan.target) for plan in plans)
    assert found.penalty == pytest.approx(best.penalty, abs=1e-6)
    assert found.total_without_rack == pytest.approx(best.total_without_rack, abs=1e-3)
    assert check_plan(other, plans[1]) == []


@FEW
@given(st.integers(0, 2**32 - 1), st.sampled_from(TIMES))
def test_who_loses_does_not_depend_on_units(seed, times):
    # Cost units that differ by irregular factors leave no two best plans.
    rng = np.random.default_rng(seed)
    types = 3
    snapshot = region(
        msb_datacenter=(0,),
        types=types,
        servers=[(0, t) for t in range(types) for _ in range(int(rng.integers(1, 4)))],
        capacity=rng.uniform(4, 9, 3),
        rru=rng.uniform(0.5, 2.5, (3, types)),
        survives=[False] * 3,
        cost_units=rng.uniform(0.5, 3.0, types),
    )
    other = in_another_unit(snapshot, seed % 3, times)
    shares = [
        coverage_of(one, plan_target_bindings(one, Limits(relative_gap=0.0)).plan.target).shortfall
        / one.reservations.capacity_rru
        for one in (snapshot, other)
    ]
    assert shares[1] == pytest.approx(shares[0])


def test_no_values_of_an_owner_make_a_server_worth_more_than_its_cost_units():
    rng = np.random.default_rng(5)
    for _ in range(50):
        snapshot = random_region(rng, 8, 3, types=4)
        values = np.where(snapshot.reservations.rru > 0, 10 ** rng.uniform(-6, 6, (3, 4)), 0.0)
        units = rng.uniform(0.1, 10, 4)
        named = replace(snapshot, reservations=replace(snapshot.reservations, rru=values), cost_units=units)
        assert (named.units_per_rru[:, None] * values <= units * (1 + 1e-12)).all()


def test_without_cost_units_each_rru_counts_once():
    snapshot = random_region(np.random.default_rng(4), 30, 4)
    assert (snapshot.units_per_rru == 1.0).all()
    assert snapshot.in_cost_units() is snapshot


def test_a_class_of_reference_values_counts_each_rru_once():
    snapshot = region(types=2, capacity=[5], rru=[[1.0, 1.6]], cost_units=[1.0, 1.6])
    assert snapshot.units_per_rru.tolist() == [1.0]


def test_a_reservation_without_a_type_of_the_region_counts_each_rru_once():
    snapshot = region(types=1, capacity=[5], rru=[[0.0]], cost_units=[3.0])
    assert snapshot.units_per_rru.tolist() == [1.0]


def test_what_decides_does_not_depend_on_the_unit():
    snapshot = region(
        msb_datacenter=(0, 0, 1),
        servers=[(0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0), (2, 0)],
        capacity=[2],
        cost_units=[1.0],
    )
    plain, other = (decide(one, 0).deciders for one in (snapshot, in_another_unit(snapshot, 0, 10.0)))
    assert [(d.name, d.now.decides) for d in other] == [(d.name, d.now.decides) for d in plain]
    assert [d.now.saves for d in other] == pytest.approx([d.now.saves for d in plain])
