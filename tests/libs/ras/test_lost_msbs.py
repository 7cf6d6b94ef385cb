"""An embedded buffer that an MSB's loss spent is rebuilt after a time, and given back when the MSB returns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.fleet import FREE
from libs.plan_check.check import check_plan
from libs.ras.lost_msbs import await_lost_msbs
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region, retargeted

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
COLUMNS = pytest.mark.parametrize("columns", [0, 10_000])


def struck(*, others_down=0):
    """Return a region of four MSBs that lost the first. r0 and r1 have four servers in each, and six are free.

    r0 is promised 12, the rest of its 16 servers after the loss. r1 is promised its 16.
    """
    servers = [(m, 0, r, True, m > 0) for r in (0, 1) for m in range(4) for _ in range(4)]
    servers += [(m, 0, FREE, False, m > 0) for m in (1, 2, 3) for _ in range(2)]
    down = [4 + k for k in range(others_down)]  # of r0, in the second MSB
    snapshot = region(msb_datacenter=(0,) * 4, servers=servers, capacity=[12, 16], survives=(True, False))
    available = snapshot.servers.available.copy()
    available[down] = False
    return replace(snapshot, servers=replace(snapshot.servers, available=available))


def solved(snapshot, columns=10_000, *, hours=None):
    if hours is not None:
        snapshot = await_lost_msbs(snapshot, {"msb-0": NOW - timedelta(hours=hours)}, NOW)
    found = plan_target_bindings(snapshot, Limits(exact_columns_max=columns))
    assert check_plan(snapshot, found.plan) == []
    return snapshot, found.plan.target


def gained(snapshot, target):
    return np.bincount(target[(target >= 0) & (target != snapshot.servers.target)], minlength=2).tolist()


@COLUMNS
def test_for_a_time_only_what_is_broken_is_repaired(columns):
    snapshot, target = solved(struck(), columns, hours=3.9)
    assert gained(snapshot, target) == [0, 4]  # r1 need not survive an MSB's loss: its promise is broken now
    assert (target[snapshot.servers.awaited] == 0).all()
    assert snapshot.servers.awaited.sum() == 4


@COLUMNS
def test_after_it_the_buffer_is_rebuilt_and_goes_back_when_the_msb_returns(columns):
    snapshot, target = solved(struck(), columns, hours=4.0)
    taken = gained(snapshot, target)[0]
    assert taken > 0
    whole = retargeted(snapshot, target)
    back = replace(whole, servers=replace(whole.servers, available=np.ones(len(whole.servers), bool)))
    back = replace(back, servers=replace(back.servers, in_use=back.servers.target >= 0))
    _, again = solved(back, columns)
    assert np.bincount(again[again >= 0])[0] == 16


def test_a_promise_that_is_broken_now_does_not_wait():
    snapshot, target = solved(struck(others_down=1), hours=1)
    assert not snapshot.servers.awaited.any()
    assert gained(snapshot, target)[0] > 0


def test_the_policy_says_how_long():
    snapshot = struck()
    snapshot = replace(snapshot, policy=replace(snapshot.policy, rebuild_after_s=3600.0))
    lost_at = {"msb-0": NOW - timedelta(minutes=61), "msb-9": NOW}
    assert not await_lost_msbs(snapshot, lost_at, NOW).servers.awaited.any()
    assert await_lost_msbs(snapshot, lost_at, NOW - timedelta(minutes=2)).servers.awaited.sum() == 4
