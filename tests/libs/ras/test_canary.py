"""The prices of a canary count for the chosen reservations, in the model and in the evaluation alike."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.assignment.model.lower import lower
from libs.domain.canary import PER_RESERVATION, Canary
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.ras.evaluate import costs_by_reservation, evaluate
from libs.ras.extraction import extract_targets
from libs.ras.server_classes import places_of
from libs.ras.solve import plan_target_bindings
from libs.ras.statement import TAKEN, least_cost, state_region
from tests.builders.random_region import random_region
from tests.builders.region import fleet_snapshot

HW_A = {"hw-a": 1.0}


def canary_of(snapshot: FleetSnapshot, **costs: float) -> FleetSnapshot:
    """Return the region with other prices for about half of its reservations."""
    return replace(snapshot, canary=Canary(policy=replace(snapshot.policy, **costs), share=0.5, salt="test"))


def chosen_and_other(count: int = 8) -> tuple[str, str]:
    """Return the names of a reservation that a canary of one half chooses, and of one that it leaves."""
    names = [f"r{k}" for k in range(count)]
    chosen = Canary(policy=RegionPolicy(), share=0.5, salt="test").chosen(names).tolist()
    return names[chosen.index(True)], names[chosen.index(False)]


def two_reservations(**policy: float) -> tuple[FleetSnapshot, int, int]:
    """Return a region of two like reservations that hold too much, and the rows of the chosen and the other one."""
    chosen, other = chosen_and_other()
    held = {f"server-{k:02d}": chosen if k % 2 else other for k in range(12)}
    spec = ReservationSpec(capacity_rru=2, rru=HW_A)
    image = fleet_snapshot(
        msbs=4,
        servers_per_rack=4,
        reservations={chosen: spec, other: spec},
        current=held,
        policy=RegionPolicy(daily_churn_share=1, solve_churn_share=1, reservation_churn_share=1, **policy),
    )
    names = image.reservations.name.tolist()
    return image, names.index(chosen), names.index(other)


@pytest.mark.parametrize("name", ["spread_cost", "buffer_cost", "surplus_cost"])
def test_a_price_counts_for_the_chosen_reservation_alone(name: str) -> None:
    snapshot, chosen, other = two_reservations()
    spread = replace(snapshot.reservations, msb_spread_limit=np.full(2, 0.1))
    snapshot = replace(snapshot, reservations=spread)
    target = snapshot.servers.target
    before = costs_by_reservation(snapshot, target)
    dearer = canary_of(snapshot, **{name: 100.0})
    after = costs_by_reservation(dearer, target)
    assert after[chosen] > before[chosen]
    assert after[other] == before[other]
    assert evaluate(dearer, target).objective - evaluate(snapshot, target).objective == pytest.approx(
        after[chosen] - before[chosen]
    )


def test_a_move_costs_the_price_of_the_reservation_that_it_leaves() -> None:
    snapshot, chosen, other = two_reservations()
    cost = canary_of(snapshot, move_cost_idle=7.0).leaving_cost
    assert set(cost[snapshot.servers.target == chosen]) == {7.0}
    assert set(cost[snapshot.servers.target == other]) == {1.0}
    assert set(cost[snapshot.servers.target == FREE]) == {0.0}


def test_a_solve_gives_back_the_surplus_that_a_canary_prices() -> None:
    snapshot, chosen, other = two_reservations(surplus_cost=0.0, buffer_cost=0.0, spread_cost=0.0)
    held = np.bincount(snapshot.servers.target + 1, minlength=3)[1:]
    target = plan_target_bindings(canary_of(snapshot, surplus_cost=12.0)).plan.target
    after = np.bincount(target + 1, minlength=3)[1:]
    assert after[chosen] < held[chosen]
    assert after[other] == held[other]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(seed=st.integers(0, 200), random=st.randoms(use_true_random=False))
def test_the_model_and_the_servers_agree_on_what_a_plan_costs(seed: int, random: Random) -> None:
    snapshot = random_region(np.random.default_rng(seed), 40, 4, msbs=3, types=2)
    snapshot = canary_of(snapshot, **{name: random.choice([0.0, 0.5, 20.0]) for name in PER_RESERVATION})
    statement = state_region(snapshot)
    lowered = lower(statement.problem)
    counts, left = np.zeros(len(lowered.kind), np.int64), lowered.classes.size.copy()
    for j in np.flatnonzero(lowered.container != statement.free).tolist():
        counts[j] = random.randint(0, int(min(lowered.model.upper[j], left[lowered.kind[j]])))
        left[lowered.kind[j]] -= counts[j]
    free = np.flatnonzero(lowered.container == statement.free)
    counts[free] = left[lowered.kind[free]]
    binding = statement.binding(lowered.assignment(counts), snapshot.servers.target)
    places = places_of(snapshot)
    target = extract_targets(snapshot, places, places.counts(binding, len(snapshot.reservations)))
    cost = sum(lowered.values(lowered.point_of(counts))[1:]) + least_cost(snapshot) * TAKEN * counts[free].sum()
    assert evaluate(snapshot, target).total_without_rack == pytest.approx(cost, abs=1e-6)


def test_rules_of_the_region_have_no_price_per_reservation() -> None:
    snapshot, _, _ = two_reservations()
    with pytest.raises(ValueError, match="shortfall_cost is one value for the whole region"):
        snapshot.price("shortfall_cost")
