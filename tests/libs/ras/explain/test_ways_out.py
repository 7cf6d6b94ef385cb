"""The ways out of a refusal work, and are the smallest, by trying all sets of whole servers of tiny regions."""

import itertools
import re

import numpy as np
import pytest

from libs.ras.admission import admit
from libs.ras.eligible_rru import most_within
from libs.ras.hard_limits import with_places, with_share
from tests.builders.random_region import region

MSB_DATACENTER = (0, 0, 1, 2)
SEEDS = range(48)


def drawn(seed):
    """Draw a region whose servers are all free, and a request with one or two hard limits."""
    rng = np.random.default_rng(seed)
    servers = [(m, int(rng.integers(2))) for m in range(4) for _ in range(rng.integers(1, 4))]
    share, allowed = [float(rng.choice([0.2, 0.3, 0.4, 0.5]))], [[True, bool(rng.integers(2)), False]]
    limits = [{"msb_share_max": share}, {"allowed": allowed}, {"msb_share_max": share, "allowed": allowed}]
    return region(
        msb_datacenter=MSB_DATACENTER,
        types=2,
        servers=servers,
        capacity=[float(rng.integers(2, 9))],
        rru=[[1.0, float(rng.choice([1.0, 1.5, 2.0]))]],
        survives=[bool(rng.integers(2))],
        **limits[seed % 3],
    )


def most_of_all_sets(snapshot, capacity=None):
    """Return the most RRU that a set of servers within the hard limits leaves after the loss that it must survive."""
    q = snapshot.reservations
    capacity = float(q.capacity_rru[0]) if capacity is None else capacity
    by_msb = []
    for m in range(4):
        value = q.rru[0, snapshot.servers.hardware_type[snapshot.server_msb == m]]
        sums = {sum(some) for n in range(len(value) + 1) for some in itertools.combinations(value.tolist(), n)}
        is_allowed = q.allowed[0, MSB_DATACENTER[m]]
        by_msb.append(max(s for s in sums if s == 0 or (is_allowed and s <= q.msb_share_max[0] * capacity + 1e-9)))
    return sum(by_msb) - (max(by_msb) if q.survives_msb_loss[0] else 0.0)


def could(snapshot, capacity=None):
    asked = float(snapshot.reservations.capacity_rru[0]) if capacity is None else capacity
    return most_of_all_sets(snapshot, capacity) >= asked - 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_refusal_is_right_and_every_way_out_works_and_is_the_smallest(seed):
    snapshot = drawn(seed)
    verdict, q = admit(snapshot, 0), snapshot.reservations
    assert (verdict.phase == "rejected") == (not could(snapshot))
    if verdict.reason != "BeyondHardLimits":
        return
    assert verdict.numbers["most_rru"] == pytest.approx(most_of_all_sets(snapshot))
    said, tried = verdict.message.lower(), 0  # a single way begins the sentence
    without_share, anywhere = with_share(snapshot, 0, np.inf), with_places(snapshot, 0, np.ones(3, bool))
    more = {d: with_places(snapshot, 0, q.allowed[0] | (np.arange(3) == d)) for d in np.flatnonzero(~q.allowed[0])}
    if way := re.search(r"allow (dc.*?) too", said):
        assert {f"dc-{d}" for d, other in more.items() if could(other)} == set(way[1].split(" or "))
        tried += 1
    elif "allow every datacenter" in said:
        assert could(anywhere)
        assert not any(map(could, more.values()))
        tried += 1
    else:
        assert q.allowed[0].all() or not could(anywhere)
    if way := re.search(r"raise msb_share_max to ([\d.]*\d)", said):
        share = float(way[1])
        assert could(with_share(snapshot, 0, share))
        assert not could(with_share(snapshot, 0, share - 0.002))
        tried += 1
    elif "do without msb_share_max" not in said:
        assert np.isinf(q.msb_share_max[0]) or not could(without_share)
    if way := re.search(r"ask for at most ([\d.]*\d)", said):
        assert could(snapshot, float(way[1]))
        tried += 1
    assert tried or "do without these limits" in said or "do without msb_share_max" in said


def test_the_seeds_have_every_way_out():
    said = " ".join(admit(drawn(seed), 0).message for seed in SEEDS).lower()
    for way in ("allow dc-", "allow every datacenter", "raise msb_share_max", "ask for at most", "without these"):
        assert way in said


@pytest.mark.parametrize("seed", range(30))
def test_whole_servers_within_a_limit_are_those_of_all_sets(seed):
    rng = np.random.default_rng(seed)
    value, stock, limit = rng.choice([0.0, 0.5, 1.0, 1.3, 2.2], 3), rng.integers(0, 4, 3), float(rng.uniform(0, 6))
    counts = itertools.product(*(range(n + 1) for n in stock))
    sums = [float(np.dot(one, value)) for one in counts]
    assert most_within(limit, value, stock) == pytest.approx(max(s for s in sums if s <= limit + 1e-9))


def test_too_many_sums_leave_the_limit():
    assert most_within(5000.5, np.array([1.0, 1.1]), np.array([6000, 6000])) == 5000.5
    assert most_within(5000.5, np.array([1.0, 0.0]), np.array([6000, 6000])) == 5000.0


@pytest.mark.parametrize("seed", range(24))
def test_no_fewer_servers_than_a_shortage_names_mend_it(seed):
    """One hardware type. The fewest are more than it names if they must make another MSB the largest."""
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 4, 4)
    others = [(m, 0, 1) for m in range(4) for _ in range(5)]
    capacity, survives = float(rng.integers(2, 8)), bool(rng.integers(2))
    snapshot = region(
        msb_datacenter=MSB_DATACENTER,
        servers=[*others, *((m, 0, 0) for m in range(4) for _ in range(count[m]))],
        capacity=[capacity, 1.0],
        survives=[survives, False],
    )
    verdict = admit(snapshot, 0)
    if verdict.phase != "degraded":
        return
    needed = int(verdict.numbers["needed_servers"])
    worst = re.search(r"outside msb-(\d)", verdict.message)
    outside = [m for m in range(4) if worst is None or m != int(worst[1])]

    def mends(more):
        for places in itertools.combinations_with_replacement(outside, more):
            held = count + np.bincount(np.array(places, int), minlength=4)
            if held.sum() - (held.max() if survives else 0) >= capacity:
                return True
        return False

    assert not mends(needed - 1)
    if survives and worst is not None and needed <= sum(count.max() - count[m] for m in outside):
        assert mends(needed)  # the largest MSB stays the largest
