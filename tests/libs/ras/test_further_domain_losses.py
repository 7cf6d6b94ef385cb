"""The loss of a domain of a further kind is recognised, and draws nothing for reservations that survive it."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from libs.domain.replacement import LossVerdict
from libs.ras.domain_losses import WINDOW_S
from libs.ras.replacement import plan_replacements
from tests.builders.failing_region import WEB, FailingRegion
from tests.builders.failures import failures_snapshot

BLOCKS = {"block": {f"server-{i:02d}": f"b{i % 4}" for i in range(96)}}
"""Each block has six servers of each MSB, in all racks. Web has 20 servers in b0 and b1, and 16 in b2 and b3."""
B0 = [f"server-{i:02d}" for i in range(0, 96, 4)]
SURVIVES = replace(WEB, capacity_rru=52, survives_loss_of=("block",))


@pytest.mark.parametrize("every_s", [1.0, 10.0])
def test_a_block_that_is_lost_one_by_one_draws_few_and_they_go_back(every_s: float) -> None:
    region, seen = FailingRegion(SURVIVES, BLOCKS), []
    for k, name in enumerate(random.Random(5).sample(B0, len(B0))):
        region.down_at[name] = k * every_s
        region.draw(k * every_s)
        seen.append(region.spares_drawn())
    assert max(seen) <= 3, "as many as single failures explain"
    region.draw(len(B0) * every_s)
    assert region.spares_drawn() == 0
    assert region.counted(len(B0) * every_s + 3600.0).keys() == {LossVerdict.WITH_PLACE}, "as long as they are down"


def test_who_survives_no_such_loss_has_each_server_replaced() -> None:
    """Its embedded buffer is for MSBs, and no MSB is lost."""
    region = FailingRegion(replace(SURVIVES, survives_loss_of=(), capacity_rru=54), BLOCKS)
    region.down_at = dict.fromkeys(B0, 0.0)
    assert region.counted(3600.0)[LossVerdict.DRAWN] == 20


@pytest.mark.parametrize("elsewhere", [(), ("server-24",)])
def test_events_of_rows_do_not_hide_the_loss_of_their_msb(elsewhere: tuple[str, ...]) -> None:
    """Half of msb-00 goes within seconds, by events of a domain. It explains this only if it stands elsewhere, too."""
    region = FailingRegion()
    row = [f"server-{k:02d}" for k in range(12)]
    region.down_at = dict.fromkeys((*row, *elsewhere), 0.0)
    region.event_domain = dict.fromkeys(region.down_at, 7)
    verdict = LossVerdict.DRAWN if elsewhere else LossVerdict.WITH_PLACE
    assert region.counted(1.0) == {verdict: len(region.down_at)}


def test_a_burst_in_a_block_waits_for_a_bounded_time() -> None:
    region = FailingRegion(SURVIVES, BLOCKS)
    region.down_at = dict.fromkeys(("server-00", "server-08", "server-24", "server-32"), 0.0)
    assert region.counted(1.0) == {LossVerdict.HELD: 4}
    assert region.counted(WINDOW_S + 1.0)[LossVerdict.HELD] == 0


def test_a_promise_that_is_broken_now_does_not_wait() -> None:
    """Two blocks are lost. The embedded buffer carries one, so spare servers replace what more is missing."""
    region = FailingRegion(SURVIVES, BLOCKS)
    down = [name for name in region.target if int(name[-2:]) % 4 in (0, 1)]
    region.down_at = {name: WINDOW_S * k for k, name in enumerate(down)}
    found = region.counted(WINDOW_S * 100)
    assert found[LossVerdict.DRAWN] == 16, "every spare server that is up"
    assert found[LossVerdict.BUFFER_EMPTY] == 24


def test_a_block_in_one_rack_is_replaced_as_a_rack_is() -> None:
    racks = {"block": {f"server-{i:02d}": f"b{i // 6}" for i in range(96)}}
    region = FailingRegion(replace(WEB, survives_loss_of=("block",)), racks)
    region.down_at = {f"server-{i:02d}": 0.0 for i in range(6)}
    assert region.counted(60.0) == {LossVerdict.DRAWN: 6}


def test_servers_without_a_place_are_no_place_that_is_lost() -> None:
    some = {"block": {name: block for name, block in BLOCKS["block"].items() if block != "b0"}}
    region = FailingRegion(SURVIVES, some)
    region.down_at = dict.fromkeys(B0, 0.0)
    assert region.counted(3600.0) == {LossVerdict.DRAWN: 20}


def test_a_server_of_a_deleted_reservation_is_no_reason_to_stop() -> None:
    """Its index counts from the end, and the region has one reservation alone."""
    failures = failures_snapshot(
        reservations={"web": replace(WEB, capacity_rru=4, survives_loss_of=("block",))},
        current={f"server-{i:02d}": "gone" if i else "web" for i in range(8)},
        down=["server-00"],
        domains={"block": {f"server-{i:02d}": f"b{i % 4}" for i in range(8)}},
    )
    assert plan_replacements(failures).verdict == (LossVerdict.NO_BUFFER,)


THIRDS = {"block": {f"server-{i:02d}": f"b{i % 3}" for i in range(96)}}
"""Each block has a third of each MSB, in all racks."""
ANOTHER = {"db": replace(WEB, capacity_rru=0, survives_loss_of=("block",))}
"""A reservation that survives the loss of a block, so that the region knows of such losses."""


def test_a_lost_block_is_no_loss_of_the_msbs_of_which_it_has_a_part() -> None:
    """Web survives the loss of an MSB and not of a block, so each server is replaced, and none waits."""
    region = FailingRegion(WEB, THIRDS, ANOTHER)
    region.down_at = {name: 0.0 for name, block in THIRDS["block"].items() if block == "b0"}
    assert region.counted(1.0) == {LossVerdict.DRAWN: 16, LossVerdict.BUFFER_EMPTY: 8}


@pytest.mark.parametrize("apart", [0, 2])
def test_a_lost_msb_is_no_loss_of_the_blocks_of_which_it_has_a_part(apart: int) -> None:
    """b0 has half of msb-00, and more servers elsewhere. A server of it that fails there is replaced."""
    blocks = {"block": {f"server-{i:02d}": "b0" if i < 12 or 42 <= i < 60 else f"b{1 + i % 2}" for i in range(96)}}
    region = FailingRegion(replace(WEB, capacity_rru=52, survives_loss_of=("block",)), blocks)
    region.down_at = {f"server-{i:02d}": 0.0 for i in range(24)}
    region.down_at |= {f"server-{i:02d}": 900.0 for i in range(48, 48 + apart)}
    assert region.counted(900.0)[LossVerdict.DRAWN] == apart


@pytest.mark.parametrize("of", [lambda i: f"b{i % 4}", lambda i: f"row-{i // 12}", lambda i: f"b{i // 6 % 4}"])
def test_an_msb_that_is_lost_one_by_one_draws_few_in_a_region_of_blocks(of: Callable[[int], str]) -> None:
    """Blocks cross MSBs, lie within one, or are the racks of one place in each. No part explains the whole."""
    region, seen = FailingRegion(WEB, {"block": {f"server-{i:02d}": of(i) for i in range(96)}}, ANOTHER), []
    for k, i in enumerate(random.Random(5).sample(range(24), 24)):
        region.down_at[f"server-{i:02d}"] = k * 10.0
        region.draw(k * 10.0)
        seen.append(region.spares_drawn())
    assert max(seen) <= 3
    region.draw(240.0)
    assert region.spares_drawn() == 0
