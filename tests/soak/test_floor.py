"""A run with too little work or faults proves nothing, and names what is missing."""

from soak.deck import cards
from soak.floor import below_floor, floor, what_happened
from soak.history import History
from soak.judge import judge
from soak.judge.kinds import KINDS
from soak.work.deeds import DEEDS
from tests.soak.histories import Records, history, well

RUN = {"type": "run", "at_s": 0.0, "duration_s": 150.0, "fault_every_s": 4.0, "small_disk": True}


def quiet() -> Records:
    """Return a run of 150 s with nearly no work, and no fault that took effect."""
    told = well()
    told.records.insert(0, RUN)
    for name in cards(small_disk=True):
        told.records.insert(1, {"type": "fault", "at_s": 1.0, "name": name, "detail": "met nothing", "hit": False})
    return told


def test_a_run_in_which_nothing_happened_is_below_the_floor() -> None:
    missing = list(below_floor(history(quiet())))
    assert "faults kill: 0; at least 1 are required" in missing
    assert any(one.startswith("requests granted: 1; at least 10") for one in missing)
    assert any(one.startswith("operations skip_step: 0") for one in missing)


def test_every_fault_and_every_kind_of_operation_has_a_floor() -> None:
    least = floor(history(quiet()))
    assert all(least[f"faults {name}"] >= 1 for name in cards(small_disk=True))
    assert all(least[f"operations {kind}"] == int(2.5 * one.least) for kind, one in KINDS.items())
    assert sum(least[f"operations {kind}"] >= 1 for kind in KINDS) > 30
    assert least.keys() == what_happened(history(quiet())).keys() - {"faults fail_over"}


def test_a_run_with_a_standby_must_fail_over() -> None:
    told = quiet()
    told.records[0] = RUN | {"fail_over": True}
    assert "faults fail_over: 0; at least 1 are required" in below_floor(history(told))


def test_what_met_something_counts() -> None:
    told = quiet()
    for _ in range(4):
        told.records.insert(1, {"type": "fault", "at_s": 1.0, "name": "kill", "detail": "api 7", "hit": True})
    assert not any(one.startswith("faults kill:") for one in below_floor(history(told)))


def test_faults_that_were_not_to_be_dealt_are_not_asked_for() -> None:
    told = quiet()
    told.records[0] = RUN | {"only": ["stall"]}
    assert [name for name in floor(history(told)) if name.startswith("faults ")] == ["faults stall"]


def test_a_disk_that_cannot_be_filled_is_not_asked_for() -> None:
    told = quiet()
    told.records[0] = RUN | {"small_disk": False}
    assert "faults fill_disk" not in floor(history(told))


def test_a_run_of_seconds_has_no_floor() -> None:
    told = quiet()
    told.records[0] = RUN | {"duration_s": 15.0}
    assert list(below_floor(history(told))) == []


def test_a_record_of_no_run_is_below_the_floor() -> None:
    assert list(below_floor(History.of([]))) == ["nothing: the history has no record of the run"]


def test_there_are_deeds() -> None:
    assert len(DEEDS) > 30


def test_a_run_that_did_not_end_is_no_success() -> None:
    told = well()
    told.records.pop()
    assert {violation.rule for violation in judge(history(told))} == {"done_is_kept"}
