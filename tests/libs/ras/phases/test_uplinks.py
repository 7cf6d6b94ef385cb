"""Relieve racks above the limits of their uplinks: what the price changes, and an oracle that tries all plans."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.fleet import TargetPlan
from libs.domain.policy import RegionPolicy
from libs.domain.uplinks import above_gbit, weighs_uplinks
from libs.plan_check.check import check_legal
from libs.ras.phases.clock import Clock
from libs.ras.phases.uplinks import heaviest, relieve_uplinks
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region
from tests.libs.domain.test_uplinks import sending
from tests.libs.ras.phases.test_racks import EXACT, SMALL, assert_best, present


def one_hot_rack(*, in_use=False, cost=5.0, **more):
    """Return a region whose reservation sends 40 Gbit/s from one of two racks, of 20 Gbit/s each."""
    stated = {
        "servers": [*[(0, 0, 0, in_use)] * 4, *[(1, 0)] * 4],
        "capacity": [4.0],
        "survives": [False],
        "gbit_per_rru": [10.0],
        "uplinks": [20.0, 20.0],
        "policy": RegionPolicy(surplus_cost=0.0, uplink_cost=cost, rack_phase_share=1.0),
    }
    return region(msb_datacenter=(0,), racks_per_msb=2, **stated | more)


def in_racks(snapshot, target):
    return np.bincount(snapshot.servers.rack[target == 0], minlength=2).tolist()


def test_idle_servers_move_until_the_rack_is_within_its_limit() -> None:
    snapshot = one_hot_rack()
    found = plan_target_bindings(snapshot)
    assert in_racks(snapshot, found.plan.target) == [2, 2]
    (phase,) = found.report.phases
    assert (phase.phase, phase.reservations) == ("uplinks", ("r0",))
    assert (phase.before, phase.after, phase.moves, phase.gain) == pytest.approx((100.0, 0.0, 2.0, 98.0))
    assert found.report.score.uplinks == 0
    assert not found.report.proven, "the bound knows no uplinks"


@pytest.mark.parametrize(
    ("more", "racks"),
    [
        ({"cost": 0.0}, [4, 0]),
        ({"uplinks": None}, [4, 0]),
        ({"uplinks": [np.inf, 1.0]}, [4, 0]),
        ({"gbit_per_rru": [0.0]}, [4, 0]),
        ({"in_use": True, "cost": 0.9}, [4, 0]),
        ({"in_use": True, "cost": 1.1}, [2, 2]),
        ({"uplinks": [30.0, 20.0]}, [3, 1]),
    ],
)
def test_servers_move_if_the_traffic_above_the_limit_costs_more_than_the_move(more, racks) -> None:
    snapshot = one_hot_rack(**more)
    assert in_racks(snapshot, plan_target_bindings(snapshot).plan.target) == racks


@pytest.mark.parametrize(("limit", "rack"), [(None, 0), ([10.0, 10.0], 1)])
def test_a_new_server_comes_from_a_rack_with_gbit_to_spare(limit, rack) -> None:
    snapshot = one_hot_rack(
        servers=[(0, 0, 0), (0, 0), (1, 0)],
        capacity=[1.0, 1.0],
        survives=[False, False],
        gbit_per_rru=[10.0, 10.0],
        uplinks=limit,
        policy=RegionPolicy(rack_phase_share=0.0),
    )
    assert snapshot.servers.rack[plan_target_bindings(snapshot).plan.target == 1].tolist() == [rack]


def test_reservations_that_send_most_choose_first() -> None:
    snapshot = one_hot_rack(
        servers=[(0, 0), (1, 0)],
        capacity=[1.0, 1.0],
        survives=[False, False],
        gbit_per_rru=[1.0, 10.0],
        uplinks=[10.0, 1.0],
        policy=RegionPolicy(rack_phase_share=0.0),
    )
    assert plan_target_bindings(snapshot).plan.target.tolist() == [1, 0]


@SMALL
@given(st.integers(0, 2**32 - 1))
def test_the_answer_is_the_best_of_all_plans_that_keep_every_other_term(seed: int) -> None:
    snapshot = sending(np.random.default_rng(seed), servers_max=7)
    snapshot = replace(snapshot, policy=replace(snapshot.policy, rack_phase_share=1.0))
    target = present(snapshot)
    chosen, _ = heaviest(snapshot, target)
    answer, report = relieve_uplinks(snapshot, target, None, EXACT, Clock(), seed=0)
    if report is None:
        assert not weighs_uplinks(snapshot) or not (above_gbit(snapshot, target) > 1e-6).any()
        return
    assert_best(snapshot, target, chosen, answer, report)


@pytest.mark.parametrize("seed", range(6))
def test_racks_without_limits_are_as_if_nothing_was_said(seed: int) -> None:
    snapshot = sending(np.random.default_rng(seed), servers_max=12)
    unlimited = replace(snapshot, uplinks=np.full(len(snapshot.uplinks), np.inf))
    q = snapshot.reservations
    silent = replace(snapshot, uplinks=None, reservations=replace(q, gbit_per_rru=np.zeros(len(q))))
    found, plain = (plan_target_bindings(one, Limits(neighbourhoods_max=4)) for one in (unlimited, silent))
    assert np.array_equal(found.plan.target, plain.plan.target)
    assert (found.report.score, set(found.report.step_s)) == (plain.report.score, set(plain.report.step_s))
    limited = plan_target_bindings(snapshot, Limits(neighbourhoods_max=4))
    assert check_legal(snapshot, TargetPlan(target=limited.plan.target, parent_plan_id=None)) == []
    assert limited.report.score.penalty <= plain.report.score.penalty + 1e-6, "uplinks make no reservation short"
