"""A plan takes no unneeded server, at no additional cost."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.assignment.model.lower import lower
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.ras.phases import plan_target_bindings
from libs.ras.release_unneeded import without_needless
from libs.ras.search_objective import plain_model
from libs.ras.server_classes import places_of
from libs.ras.solve_limits import SolveLimits
from libs.ras.statement import state_region
from libs.simulator.fleet import made_up_fleet
from tests.builders.random_region import random_region


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


def places_in(snapshot):
    statement = state_region(snapshot)
    lowered = lower(statement.problem)
    return places_of(snapshot, statement, lowered), lowered


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_left_out_costs_nothing_and_nothing_more_can_be(seed):
    random = np.random.default_rng(seed)
    snapshot = random_region(random, 40, 4)
    places, lowered = places_in(snapshot)
    model = plain_model(lowered)

    def cost(wanted):
        """Return the cost by the lowered problem's own arithmetic. Counts may exceed the supply."""
        counts = np.zeros(len(lowered.kind), np.int64)
        real = lowered.container < len(snapshot.reservations)
        counts[real] = wanted[lowered.container[real], lowered.kind[real]]
        return model.objective(lowered.point_of(counts))

    eligible = np.zeros_like(places.held, dtype=bool)
    real = lowered.container < len(snapshot.reservations)
    eligible[lowered.container[real], lowered.kind[real]] = True
    more = np.where(eligible & (places.rru > 0), places.held + random.integers(0, 3, places.held.shape), places.held)
    trimmed = without_needless(snapshot.reservations, places, more)
    assert ((trimmed <= more) & (trimmed >= places.held)).all()
    assert cost(trimmed) <= cost(more) + 1e-6


def test_who_has_an_affinity_is_left_alone():
    snapshot = random_region(np.random.default_rng(3), 40, 4)
    q = snapshot.reservations
    snapshot = replace(snapshot, reservations=replace(q, affinity_share=np.zeros_like(q.affinity_share)))
    places, _ = places_in(snapshot)
    more = places.held + 5
    assert (without_needless(snapshot.reservations, places, more) == more).all()
