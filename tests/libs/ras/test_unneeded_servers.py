"""A plan takes no unneeded server, at no additional cost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.assignment import Limits
from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.ras.evaluate import evaluate
from libs.ras.solve import plan_target_bindings
from libs.simulator.fleet import made_up_fleet
from tests.builders.random_region import random_region, region


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
    target = plan_target_bindings(snapshot, Limits(), seed=1).plan.target
    assert (target == 0).sum() == 6


@pytest.mark.parametrize("columns", [0, 200])
@pytest.mark.parametrize("fix_first", [True, False])
@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_every_server_that_is_newly_bound_is_of_use(columns, fix_first, seed):
    snapshot = random_region(np.random.default_rng(seed), 36, 4)
    snapshot = replace(snapshot, policy=replace(snapshot.policy, fix_first=fix_first))
    target = plan_target_bindings(snapshot, Limits(exact_columns_max=columns, relative_gap=0.0)).plan.target
    cost = evaluate(snapshot, target).total_without_rack
    for row in np.flatnonzero((target >= 0) & (snapshot.servers.target < 0)):
        without = target.copy()
        without[row] = FREE
        assert evaluate(snapshot, without).total_without_rack > cost + 1e-9


def test_a_reservation_with_an_affinity_takes_no_more_than_it_needs():
    # Two RRU wanted, half of them in each datacenter; a wide band would let it take all ten servers for nothing.
    snapshot = region(
        servers=[(m, 0) for m in (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)],
        capacity=[2],
        survives=[False],
        policy=RegionPolicy(affinity_tolerance=1.0),
    )
    share = np.full_like(snapshot.reservations.affinity_share, 0.5)
    snapshot = replace(snapshot, reservations=replace(snapshot.reservations, affinity_share=share))
    target = plan_target_bindings(snapshot, Limits(exact_columns_max=0)).plan.target
    assert (target == 0).sum() == 2
