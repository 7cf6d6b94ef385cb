"""Compare the traffic of racks and its cost with a count server by server."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libs.domain.fleet import FREE
from libs.domain.policy import RegionPolicy
from libs.domain.uplinks import above_gbit, by_rack, left_to, sent_gbit, share_above, uplinks_cost, weighs_uplinks
from libs.ras.evaluate import evaluate
from libs.ras.single_reservation import with_servers
from tests.builders.random_region import random_region, region


def sending(rng, servers_max=12):
    """Return a random region in which some reservations send, and some racks have a limit."""
    snapshot = random_region(rng, int(rng.integers(1, servers_max + 1)), int(rng.integers(1, 4)))
    q, racks = snapshot.reservations, len(snapshot.topology.racks)
    return replace(
        snapshot,
        policy=RegionPolicy(uplink_cost=float(rng.uniform(0.5, 9))),
        reservations=replace(q, gbit_per_rru=np.where(rng.random(len(q)) < 0.4, 0.0, rng.uniform(0.1, 9, len(q)))),
        uplinks=np.where(rng.random(racks) < 0.3, np.inf, rng.uniform(0.1, 20, racks)),
    )


def above_by_hand(snapshot, binding):
    """Return the Gbit/s above the limit of each rack, server by server."""
    s, q = snapshot.servers, snapshot.reservations
    found = []
    for k, limit in enumerate(snapshot.uplinks):
        sent = 0.0
        for i in range(len(s)):
            if s.rack[i] == k and s.lasting[i] and binding[i] >= 0:
                sent += q.gbit_per_rru[binding[i]] * q.rru[binding[i], s.hardware_type[i]]
        found.append(max(0.0, sent - limit))
    return found


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_the_cost_is_that_of_the_definition_and_a_part_of_the_total(seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = sending(rng)
    binding = rng.integers(-1, len(snapshot.reservations), len(snapshot.servers)).astype(np.int32)
    above = above_by_hand(snapshot, binding)
    assert above_gbit(snapshot, binding) == pytest.approx(above)
    cost = snapshot.policy.uplink_cost * sum(above)
    score, free = evaluate(snapshot, binding), evaluate(snapshot.with_costs(uplink_cost=0.0), binding)
    assert score.uplinks == pytest.approx(cost)
    assert score.total == pytest.approx(free.total + cost)
    assert score.total_without_rack == pytest.approx(free.total_without_rack), "the bound of the first phase knows none"
    assert share_above(snapshot, binding).sum() == pytest.approx(sum(above)), "reservations divide it"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_in_a_part_of_a_region_each_change_costs_what_it_costs_in_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    snapshot = sending(rng)
    R, S = len(snapshot.reservations), len(snapshot.servers)
    here = rng.random(S) < 0.5
    rows = np.flatnonzero(here).astype(np.int32)
    one = np.maximum(snapshot.servers.target, FREE)
    other = np.where(here, rng.integers(-1, R, S), one).astype(np.int32)
    part = with_servers(snapshot, rows)
    assert part.uplinks == pytest.approx(left_to(snapshot, here, one))
    whole = uplinks_cost(snapshot, other) - uplinks_cost(snapshot, one)
    assert uplinks_cost(part, other[rows]) - uplinks_cost(part, one[rows]) == pytest.approx(whole)


def test_traffic_does_not_depend_on_the_unit_in_which_rru_are_counted() -> None:
    snapshot = region(
        types=2,
        servers=[(0, 0, 0), (0, 1, 0)],
        capacity=[3.0],
        rru=[[1.0, 2.0]],
        gbit_per_rru=[4.0],
        uplinks=[10.0, np.inf, np.inf],
        cost_units=[3.0, 9.0],
    )
    bound = snapshot.servers.target
    assert by_rack(snapshot, sent_gbit(snapshot, bound)).tolist() == [12.0, 0.0, 0.0]
    assert sent_gbit(snapshot.in_cost_units(), bound) == pytest.approx(sent_gbit(snapshot, bound))


@pytest.mark.parametrize(
    ("change", "weighed"),
    [({}, True), ({"uplinks": [np.inf] * 3}, False), ({"uplinks": None}, False), ({"gbit_per_rru": [0.0]}, False)],
)
def test_uplinks_are_weighed_only_where_they_can_cost_anything(change, weighed) -> None:
    stated = {"capacity": [1.0], "servers": [(0, 0, 0)], "gbit_per_rru": [4.0], "uplinks": [2.0, np.inf, 2.0]}
    snapshot = region(**stated | change)
    assert weighs_uplinks(snapshot) is weighed
    assert uplinks_cost(snapshot, snapshot.servers.target) == (10.0 if weighed else 0.0)
    assert not weighs_uplinks(snapshot.with_costs(uplink_cost=0.0))
