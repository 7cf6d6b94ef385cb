"""Check sentences of `plimsoll status` and `plimsoll drain-schedule`."""

import pytest

from services.cli.drain_schedule import _in_words
from services.cli.status import _held_in_words, _losses


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["MSB"], "an MSB"),
        (["MSB", "power_row"], "an MSB or a power_row"),
        (["power_row"], "a power_row"),
        ([], "an MSB"),
    ],
)
def test_status_names_the_losses_that_reservations_survive(kinds: list[str], said: str) -> None:
    assert _losses(kinds) == said


@pytest.mark.parametrize(("lost", "said"), [(1, "1 lost servers and holds less"), (2, "2 lost servers and hold less")])
def test_status_counts_reservations_that_lost_servers_and_no_servers(lost: int, said: str) -> None:
    """100 servers were down, and the line read "2 lost servers"."""
    now = {"ready": 3, "not_there_yet": 0, "capacity_lost": lost, "held_rru": 9.0, "held_after_msb_loss_rru": 8.0}
    line = _held_in_words(now | {"missing_rru": 1.0, "watched_until": "2026-12-01T04:20:09Z"})
    assert f"; {said} than was granted; 1 RRU missing" in line


def test_a_schedule_without_any_slot_promises_nothing() -> None:
    left = {"rack": "rack-00", "reason": "WouldBeShort", "message": "web would be short by 4 RRU"}
    slot = {"racks": ["rack-01"], "servers": 4}
    assert _in_words({"racks": 1, "slots": [], "unplaced": [left]}) == "no time for any of 1 rack"
    assert _in_words({"racks": 2, "slots": [slot], "unplaced": [left]}) == "1 of 2 racks in 1 slot, no promise broken"
