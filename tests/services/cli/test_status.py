"""Check sentences of `plimsoll status` and `plimsoll drain-schedule`."""

import pytest

from services.cli.drain_schedule import _in_words
from services.cli.status import _losses


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


def test_a_schedule_without_any_slot_promises_nothing() -> None:
    left = {"rack": "rack-00", "reason": "WouldBeShort", "message": "web would be short by 4 RRU"}
    slot = {"racks": ["rack-01"], "servers": 4}
    assert _in_words({"racks": 1, "slots": [], "unplaced": [left]}) == "no time for any of 1 rack"
    assert _in_words({"racks": 2, "slots": [slot], "unplaced": [left]}) == "1 of 2 racks in 1 slot, no promise broken"
