"""A plan takes no server that nobody needs, and is none the dearer for it."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.ras.cost import cost_of
from libs.ras.limits import SolveLimits
from libs.ras.phases import plan_target_bindings
from libs.ras.problem import group_servers
from libs.ras.trim import without_needless
from libs.simulator.fleet import made_up_fleet
from tests.regions import random_region


def test_a_buffer_does_not_swallow_what_is_free():
    policy = RegionPolicy(buffer_cost=1.0, spread_cost=0.5)
    snapshot = made_up_fleet("west", servers=600, seed=1, policy=policy).snapshot
    kind = str(snapshot.hardware_types[0])
    spec = ReservationSpec(capacity_rru=6.0, rru={kind: 1.0}, survives_msb_loss=False)
    snapshot, _ = with_reservation(snapshot, "buffer", spec)
    every = {str(name): 5.0 for name in snapshot.hardware_types}
    for k in range(6):
        wanted = ReservationSpec(capacity_rru=100.0, rru=every, msb_spread_limit=0.2)
        snapshot, _ = with_reservation(snapshot, f"web-{k}", wanted)
    target = plan_target_bindings(snapshot, SolveLimits(), seed=1).plan.target
    assert (target == 0).sum() == 6


@given(st.integers(0, 2**32 - 1))
def test_what_is_left_out_costs_nothing_and_nothing_more_can_be(seed):
    random = np.random.default_rng(seed)
    problem = group_servers(random_region(random, 40, 4))
    more = np.minimum(problem.most, problem.held + random.integers(0, 3, len(problem.held)))
    trimmed = without_needless(problem, more)
    assert ((trimmed <= more) & (trimmed >= np.minimum(more, problem.held))).all()
    before, after = cost_of(problem, more), cost_of(problem, trimmed)
    assert after.total <= before.total + 1e-6
    assert after.shortfall.sum() <= before.shortfall.sum() + 1e-6


def test_who_has_an_affinity_is_left_alone():
    random = np.random.default_rng(3)
    problem = group_servers(random_region(random, 40, 4))
    wanted = replace(problem, affinity_share=np.zeros_like(problem.affinity_share))
    assert (without_needless(wanted, wanted.most) == wanted.most).all()
