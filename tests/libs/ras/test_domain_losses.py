"""Failures that come server by server are recognised as the loss of their MSB, and draw few spares for a while only."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from libs.domain.replacement import LossVerdict
from libs.ras.domain_losses import HOLD_S_MAX, WINDOW_S, explained_failures
from tests.builders.failing_region import FailingRegion


@pytest.mark.parametrize("every_s", [1.0, 10.0, 20.0])
def test_an_msb_that_is_lost_one_by_one_draws_few_and_they_go_back(every_s: float) -> None:
    region, seen = FailingRegion(), []
    order = random.Random(5).sample(range(24), 24)
    for k, i in enumerate(order):
        region.down_at[f"server-{i:02d}"] = k * every_s
        region.draw(k * every_s)
        seen.append(region.spares_drawn())
    assert max(seen) <= 3, "as many as single failures explain"
    region.draw(24 * every_s)
    assert region.spares_drawn() == 0, "all are back, but those that were lost too"
    assert region.spares_up() == 18
    assert region.counted(24 * every_s + 3600.0).keys() == {LossVerdict.WITH_PLACE}, "as long as they are down"


def test_a_rack_that_fails_server_by_server_is_replaced_at_once() -> None:
    region = FailingRegion()
    for k in range(6):
        region.down_at[f"server-{k:02d}"] = 5.0 * k
        assert region.counted(5.0 * k)[LossVerdict.DRAWN] == 1


def test_single_failures_in_a_bad_moment_wait_for_a_bounded_time() -> None:
    region = FailingRegion()
    for k, i in enumerate((0, 6, 12, 1)):
        region.down_at[f"server-{i:02d}"] = float(k)
        found = region.counted(float(k))
        assert found == {LossVerdict.DRAWN: 1} if k < 3 else {LossVerdict.HELD: 1}
    assert region.counted(WINDOW_S - 1.0) == {LossVerdict.HELD: 1}
    assert region.counted(WINDOW_S + 1.0) == {LossVerdict.DRAWN: 1}


def test_no_server_waits_longer_than_the_longest_hold() -> None:
    region = FailingRegion()
    others = ("server-12", "server-18", "server-19", "server-20")
    region.target["server-12"] = "spare"
    region.down_at = {"server-00": 0.0} | dict.fromkeys(others, HOLD_S_MAX)
    assert region.counted(HOLD_S_MAX) == {LossVerdict.HELD: 1}
    region.down_at |= dict.fromkeys(others, HOLD_S_MAX + 1.0)
    assert region.counted(HOLD_S_MAX + 1.0) == {LossVerdict.DRAWN: 1}


def test_a_spare_server_stays_where_the_reservation_would_miss_it() -> None:
    region = FailingRegion()
    region.down_at = {"server-24": 0.0, "server-48": 0.0, "server-72": 0.0}
    assert region.counted(0.0) == {LossVerdict.DRAWN: 3}
    region.down_at |= {f"server-{i:02d}": 10.0 for i in (0, 6, 12)}
    region.draw(10.0)
    region.down_at |= {f"server-{i:02d}": 20.0 for i in range(1, 24)}
    region.draw(20.0)
    web = [name for name, to in region.target.items() if to == "web" and name not in region.down_at]
    assert len(web) == 54, "no spare server of other failures goes, and web keeps its promise"


@pytest.mark.parametrize(
    ("limits", "returned"),
    [
        ({}, 3),
        ({"datacenters": ("dc-00",)}, 3),
        ({"datacenters": ("dc-01",)}, 0),
        ({"msb_share_max": 18 / 54}, 3),
        ({"msb_share_max": 17 / 54}, 2),
    ],
)
def test_a_lost_server_goes_back_only_within_hard_limits(limits: dict[str, Any], returned: int) -> None:
    """Web set its limits after the spare servers were drawn."""
    region = FailingRegion()
    region.target = {name: to for name, to in region.target.items() if to == "web" or int(name[-2:]) >= 24}
    region.down_at = {"server-00": 0.0, "server-06": 0.0, "server-12": 0.0}
    assert region.counted(0.0) == {LossVerdict.DRAWN: 3}
    region.down_at = {f"server-{i:02d}": 10.0 for i in range(24)} | region.down_at
    region.web = replace(region.web, **limits)
    assert region.draw(20.0).returned == returned


def test_more_failures_are_explained_in_a_larger_msb() -> None:
    assert explained_failures(np.array([24, 94, 2800])).astype(int).tolist() == [3, 3, 6]
