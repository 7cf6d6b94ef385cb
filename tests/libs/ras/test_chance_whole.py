"""The chance to stay whole is that of drawn failures, and its counts are those of trying every loss."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from libs.domain.failure_record import MSB_DOWN_S, MSB_LOSSES_PER_YEAR, YEAR_S, MsbLossRecord
from libs.domain.loss_outlook import LossGround
from libs.ras.chance_whole import chances_whole
from libs.ras.loss_outlook import foresee_losses

DAY_S = 86_400.0


def ground(held, granted, survives=None):
    held = np.array(held, float)
    r, m = held.shape
    zeros = np.zeros(m, np.int64)
    return LossGround(
        kind="msb",
        datacenter=np.array(["dc"] * m, object),
        domain=np.array([f"msb-{i}" for i in range(m)], object),
        servers=zeros,
        down=zeros,
        in_use=zeros,
        spare=zeros,
        reservation=np.array([f"r{i}" for i in range(r)], object),
        owner=np.array(["team"] * r, object),
        capacity_rru=np.array(granted, float) + 5.0,
        granted_rru=np.array(granted, float),
        survives=np.array([True] * r if survives is None else survives),
        held_rru=held,
    )


def record(msbs, losses=0, down_s=0.0, days=90.0):
    return MsbLossRecord(msbs=msbs, watched_s=days * DAY_S, losses=losses, down_s=down_s)


@pytest.mark.parametrize("seed", range(20))
def test_fatal_losses_are_those_of_trying_each(seed):
    rng = np.random.default_rng(seed)
    held = rng.integers(0, 5, (3, 5)).astype(float)
    capacity = np.maximum(1.0, held.sum(1) - rng.integers(0, 8, 3))
    found = {one.reservation: one for one in chances_whole(ground(held, capacity), record(5), horizon_s=30 * DAY_S)}
    for r in range(3):

        def is_short(lost, r=r):
            return held[r].sum() - held[r, list(lost)].sum() < capacity[r]

        single = [m for m in range(5) if held[r, m] > 0 and is_short([m])]
        pairs = [
            pair
            for pair in itertools.combinations(range(5), 2)
            if is_short(pair) and not set(pair) & set(single) and held[r, list(pair)].any()
        ]
        assert (found[f"r{r}"].fatal_msbs, found[f"r{r}"].fatal_pairs) == (len(single), len(pairs))


def test_the_chance_is_that_of_drawn_losses():
    """Six MSBs are lost so often that 4,000 drawn years show the chance to within 2 %."""
    rng = np.random.default_rng(1)
    seen = record(6, losses=40, down_s=40 * 0.5 * DAY_S, days=200.0)
    rate, down_s, horizon_s, runs = seen.per_s, seen.mean_down_s, 30 * DAY_S, 4000
    held, capacity = [[1.0] * 6, [1.0] * 5 + [0.0]], [5.0, 5.0]
    [fragile, safe] = chances_whole(ground(held, capacity), seen, horizon_s=horizon_s)
    assert (fragile.reservation, safe.reservation) == ("r1", "r0")
    whole = {"r0": 0, "r1": 0}
    for _ in range(runs):
        losses = sorted(
            (at, at + rng.exponential(down_s), m)
            for m in range(6)
            for at in rng.uniform(0, horizon_s, rng.poisson(rate * horizon_s))
        )
        whole["r1"] += not any(m < 5 for _, _, m in losses)
        whole["r0"] += not any(
            later[0] < earlier[1] and later[2] != earlier[2] for earlier, later in itertools.combinations(losses, 2)
        )
    assert fragile.chance == pytest.approx(whole["r1"] / runs, abs=0.02)
    assert safe.chance == pytest.approx(whole["r0"] / runs, abs=0.02)
    assert 0.3 < safe.chance < 0.999


def test_a_region_without_losses_counts_on_the_published_rate():
    new = record(12, days=0.0)
    assert new.per_s == pytest.approx(MSB_LOSSES_PER_YEAR / YEAR_S)
    assert new.mean_down_s == MSB_DOWN_S
    assert record(12, losses=3, down_s=3 * MSB_DOWN_S).per_s > 5 * new.per_s


def test_one_that_is_short_has_no_chance():
    [short, fine] = chances_whole(ground([[1.0, 1.0], [2.0, 2.0]], [3.0, 2.0]), record(2), horizon_s=DAY_S)
    assert (short.reservation, short.chance, short.missing_rru) == ("r0", 0.0, 1.0)
    assert fine.chance > 0.99


def test_a_request_that_waits_has_the_chance_of_what_was_granted_of_it():
    held = [[1.0, 1.0], [0.1 + 0.2, 1e-17]]
    [half, none] = chances_whole(ground(held, [1.5, 0.0]), record(2, losses=5), horizon_s=DAY_S)
    assert (half.reservation, half.fatal_msbs, half.capacity_rru, half.granted_rru) == ("r0", 2, 6.5, 1.5)
    assert (none.fatal_msbs, none.fatal_pairs, none.missing_rru, none.chance) == (0, 0, 0.0, 1.0)


def test_the_loss_of_a_resource_leaves_a_reservation_short():
    """r0 has RRU to spare. It asks for a resource too, of which each MSB holds half: the loss of either is fatal."""
    facts = ground([[5, 5, 5], [5, 5, 5]], [4, 4])
    facts = replace(facts, resource_of=np.array([0]), resource_rru=np.array([[2.0, 2.0, 0.0]]))
    found = {one.reservation: one for one in chances_whole(facts, record(3), horizon_s=DAY_S)}
    assert (found["r0"].fatal_msbs, found["r0"].fatal_pairs, found["r0"].missing_rru) == (2, 0, 0)
    assert (found["r1"].fatal_msbs, found["r1"].fatal_pairs) == (0, 0)
    msbs = foresee_losses(facts)
    assert [[(one.reservation, one.missing_rru) for one in msb.short] for msb in msbs] == [[("r0", 2)], [("r0", 2)], []]
    facts = replace(facts, resource_rru=np.array([[4.0, 4.0, 0.0]]))
    [one] = [one for one in chances_whole(facts, record(3), horizon_s=DAY_S) if one.reservation == "r0"]
    assert (one.fatal_msbs, one.fatal_pairs) == (0, 1)
    facts = replace(facts, resource_rru=np.array([[1.0, 2.0, 0.0]]))
    [one] = [one for one in chances_whole(facts, record(3), horizon_s=DAY_S) if one.reservation == "r0"]
    assert (one.missing_rru, one.chance) == (1, 0), "it is short already"
