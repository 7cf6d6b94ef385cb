"""The rules of maintenance allow each slot of a schedule, and a left-over rack has no place. Each reservation asks for
more than it holds, and was granted less.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.domain.drain_schedule import DrainGround
from libs.domain.loss_outlook import LossGround
from libs.domain.maintenance import MaintenanceReason
from libs.ras.drain_schedule import plan_drains

NOW = datetime(2026, 11, 25, tzinfo=UTC)
FOUR_H = timedelta(hours=4)


def drawn(seed, *, asked=()):
    """Return three MSBs of eight racks with three servers each, and four reservations with servers in some racks."""
    rng = np.random.default_rng(seed)
    racks, msbs, r = 24, 3, 4
    rack_msb = np.repeat(np.arange(msbs), racks // msbs).astype(np.int32)
    gone = (rng.random((racks, r)) < 0.4) * rng.integers(1, 4, (racks, r)).astype(float)
    held = np.zeros((r, msbs))
    np.add.at(held.T, rack_msb, gone)
    total = held.sum(1)
    granted = total - rng.integers(0, 6, r)
    region = LossGround(
        kind="msb",
        datacenter=np.array(["dc"] * msbs, object),
        domain=np.array([f"msb-{m}" for m in range(msbs)], object),
        servers=np.full(msbs, 24),
        down=np.zeros(msbs, np.int64),
        in_use=np.zeros(msbs, np.int64),
        spare=np.zeros(msbs, np.int64),
        reservation=np.array([f"r{i}" for i in range(r)], object),
        owner=np.array(["team"] * r, object),
        capacity_rru=total + 5,
        granted_rru=granted,
        survives=np.ones(r, bool),
        held_rru=held,
    )
    return DrainGround(
        region=region,
        rack=np.array([f"rack-{k:02d}" for k in range(racks)], object),
        rack_msb=rack_msb,
        servers=np.full(racks, 3),
        gone_rru=gone,
        spare_type=np.array(["hw-a", "hw-b"], object),
        spare_servers=np.zeros(2, np.int64),
        spare_gone=np.zeros((racks, 2), np.int64),
        asked=asked,
    )


def planned(ground, *, days=7.0):
    return plan_drains(ground, begins_at=NOW, ends_at=NOW + timedelta(days=days), each=FOUR_H, slots_max=500)


def short_of(ground, racks):
    """Return the reservations that hold less than promised without these racks, which take something from them."""
    gone = ground.gone_rru[racks].sum(0)
    left = ground.region.held_rru.sum(1) - gone
    return {r for r in range(len(left)) if gone[r] > 0 and left[r] < ground.region.granted_rru[r] - 1e-9}


@pytest.mark.parametrize("seed", range(12))
def test_no_slot_breaks_a_promise_and_left_over_racks_would(seed):
    ground = drawn(seed)
    found = planned(ground)
    row = {str(name): k for k, name in enumerate(ground.rack)}
    placed = [name for slot in found.slots for name in slot.racks]
    assert sorted([*placed, *(name for name, _ in found.unplaced)]) == sorted(row)
    for slot, following in zip(found.slots, [*found.slots[1:], None], strict=True):
        racks = [row[name] for name in slot.racks]
        assert {int(ground.rack_msb[k]) for k in racks} == {int(slot.msb[-1])}
        assert slot.servers == 3 * len(racks) <= 6, "a quarter of 24 servers"
        assert not short_of(ground, racks)
        assert following is None or slot.ends_at <= following.starts_at
    for name, answer in found.unplaced:
        assert answer.reason is MaintenanceReason.WOULD_BE_SHORT
        assert {f"r{r}" for r in short_of(ground, [row[name]])} == set(answer.short_rru) != set()


def test_seeds_have_both_placed_and_left_over_racks():
    found = [planned(drawn(seed)) for seed in range(12)]
    assert sum(len(one.unplaced) for one in found) > 0
    assert any(len(slot.racks) == 2 for one in found for slot in one.slots)


def test_what_is_asked_for_already_keeps_its_time():
    taken = (NOW + timedelta(hours=5), NOW + timedelta(hours=6))
    found = planned(drawn(3, asked=(taken,)))
    assert found.slots[0].starts_at == NOW
    assert found.slots[1].starts_at == NOW + timedelta(hours=8)
    assert planned(drawn(3, asked=((NOW, None),))).slots == ()


def test_a_rack_without_time_says_so():
    found = planned(drawn(3), days=4 / 24)
    assert len(found.slots) == 1
    reasons = [answer.reason for _, answer in found.unplaced]
    assert MaintenanceReason.NO_SLOT in reasons
    assert "give it more time" in next(a.message for _, a in found.unplaced if a.reason is MaintenanceReason.NO_SLOT)


def test_a_rack_whose_drain_would_lack_a_resource_has_no_slot():
    ground = drawn(0)
    total = ground.region.held_rru.sum(1)
    lax = replace(ground.region, granted_rru=total / 100)
    rack = int(np.flatnonzero(ground.gone_rru[:, 0])[0])
    assert not planned(replace(ground, region=lax)).unplaced
    holds = np.zeros((1, len(lax.domain)))
    holds[0, ground.rack_msb[rack]] = lax.granted_rru[0]
    gone = np.zeros((len(ground.rack), 1))
    gone[rack] = holds.sum()
    scarce = replace(lax, resource_of=np.array([0]), resource_rru=holds)
    plan = planned(replace(ground, region=scarce, gone_rru=np.hstack([ground.gone_rru, gone])))
    [(name, answer)] = plan.unplaced
    assert (name, answer.reason) == (ground.rack[rack], MaintenanceReason.WOULD_BE_SHORT)


def test_half_of_the_spare_servers_of_each_type_stay_in_each_slot():
    ground = drawn(3)
    lax = replace(ground.region, granted_rru=np.zeros(4))
    gone = np.zeros((len(ground.rack), 2), np.int64)
    gone[0] = 3, 0  # alone too many of five
    gone[1:3] = 0, 2  # two racks of four servers together too many of seven
    gone[3] = 2, 1
    plan = planned(replace(ground, region=lax, spare_servers=np.array([5, 7]), spare_gone=gone))
    [(name, answer)] = plan.unplaced
    assert (name, answer.reason) == ("rack-00", MaintenanceReason.TOO_FEW_SPARES)
    assert answer.message.endswith("2 of 5 of hw-a, where 3 must stay")
    assert [slot.racks for slot in plan.slots[:2]] == [("rack-01", "rack-03"), ("rack-02", "rack-04")]
