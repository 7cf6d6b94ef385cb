"""A shrunk history breaks the same rule, and contains little else."""

import pytest

from soak.history import History
from soak.judge import judge
from soak.shrink import shrunk
from tests.soak.histories import entry, move, well


def test_what_the_rule_does_not_need_goes() -> None:
    told = well()
    told.records[-1]["moves"].append(move(3, "db") | {"move_id": 30})
    left = shrunk(told.records, "one_reservation_at_a_time")
    assert [record["type"] for record in left] == ["final"]
    assert len(left[0]["moves"]) <= 2
    assert left[0]["audit"] == []
    assert {violation.rule for violation in judge(History.of(left))} >= {"one_reservation_at_a_time"}


def test_operations_that_it_needs_stay() -> None:
    told = well()
    told.records[-1]["audit"].append(entry("submit", "capacity_request", 1))
    left = shrunk(told.records, "done_is_on_the_trail")
    assert {record["what"] for record in left if record["type"] == "call"} == {"create"}
    assert len(left[-1]["audit"]) == 2


def test_a_history_in_which_all_is_well_cannot_be_shrunk() -> None:
    with pytest.raises(ValueError, match="do not break joined_once"):
        shrunk(well().records, "joined_once")
