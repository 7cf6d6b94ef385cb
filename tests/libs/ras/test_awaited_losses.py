"""An embedded buffer that an MSB's loss spent is rebuilt after a time, and given back when the MSB returns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.assignment import Limits
from libs.domain.domain_kind import MSB_KIND
from libs.domain.fleet import FREE
from libs.domain.reservation import ReservationSpec
from libs.plan_check.check import check_plan
from libs.ras.awaited_losses import await_lost_domains, awaited_by_kind
from libs.ras.solve import plan_target_bindings
from tests.builders.random_region import region, retargeted
from tests.builders.region import fleet_snapshot

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
        snapshot = await_lost_domains(snapshot, {MSB_KIND: {"msb-0": NOW - timedelta(hours=hours)}}, NOW)
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
    lost_at = {MSB_KIND: {"msb-0": NOW - timedelta(minutes=61), "msb-9": NOW}}
    assert not await_lost_domains(snapshot, lost_at, NOW).servers.awaited.any()
    assert await_lost_domains(snapshot, lost_at, NOW - timedelta(minutes=2)).servers.awaited.sum() == 4


@pytest.mark.parametrize("specs", [{}, {"web": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})}])
def test_servers_of_deleted_reservations_and_free_ones_are_awaited_by_none(specs: dict[str, ReservationSpec]) -> None:
    current = {"server-00": "gone"} | dict.fromkeys(["server-04"][: len(specs)], "web")
    snapshot = fleet_snapshot(reservations=specs, current=current, down=[f"server-{i:02d}" for i in range(4)])
    assert not await_lost_domains(snapshot, {MSB_KIND: {"msb-00": NOW}}, NOW).servers.awaited.any()


def test_the_racks_of_a_lost_msb_are_no_further_loss() -> None:
    """Each rack is a domain that web survives too, but web awaits the MSB. The last block is lost beside it."""
    names = [f"server-{i:02d}" for i in range(16)]
    kinds = {"nvlink": {name: f"n{i // 2}" for i, name in enumerate(names)}}
    web = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_loss_of=("nvlink", "row"))
    for lost, kinds_told in ((range(4), (MSB_KIND,)), ((0, 1, 2, 3, 7, 11), (MSB_KIND, "row"))):
        snapshot = fleet_snapshot(
            msbs=4,
            racks_per_msb=2,
            servers_per_rack=2,
            reservations={"web": web},
            current=dict.fromkeys(names, "web"),
            down=[names[i] for i in lost],
            domains={**kinds, "row": {name: f"r{i // 4 if i % 4 != 3 else 9}" for i, name in enumerate(names[:12])}},
        )
        lost_at = {MSB_KIND: {"msb-00": NOW}, "row": {"r9": NOW} if len(lost) > 4 else {}}
        assert awaited_by_kind(await_lost_domains(snapshot, lost_at, NOW))[0].keys() == {*kinds_told}
