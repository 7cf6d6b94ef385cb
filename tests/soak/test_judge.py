"""The judge finds nothing where all is well, and each of the lies that a platform could tell."""

from collections.abc import Callable
from typing import Any

import pytest

from soak.history import History
from soak.judge import RULES, judge
from tests.soak.histories import Json, Records, entry, event, history, move, request, reservation, server, well

Spoil = Callable[[Records, Json], Any]


def test_a_history_in_which_all_is_well_is_accepted() -> None:
    assert judge(history(well())) == []


def late(told: Records, what: str, path: str, status: int, answer: Json, **fields: Any) -> None:
    """Something that a client was told just before the end."""
    final = told.records.pop()
    told.op(what, "GET", path, (status, answer), **fields)
    told.records.append(final)


LIES: list[tuple[str, str, Spoil]] = [
    ("no_internal_error", "an answer is 500", lambda told, end: late(told, "get_region", "/v1/regions/x", 500, {})),
    (
        "one_key_one_answer",
        "a key that was done is done again",
        lambda told, end: late(
            told, "create", "/v1/reservations", 202, request(capacity_request_id=2), key="k1", body={"name": "web"}
        ),
    ),
    (
        "one_key_one_answer",
        "a key that was done is refused",
        lambda told, end: late(told, "create", "/v1/reservations", 409, {}, key="k1", body={"name": "web"}),
    ),
    (
        "generations_only_grow",
        "an older row is shown later",
        lambda told, end: late(told, "get_request", "/v1/capacity-requests/1", 200, request("assessing", 2)),
    ),
    (
        "same_generation_same_row",
        "a row changed without its generation",
        lambda told, end: late(told, "list_servers", "/v1/servers", 200, {"items": [server(1, "msb-0", "db")]}),
    ),
    (
        "phases_go_forward",
        "what was granted is rejected",
        lambda told, end: end["capacity_requests"][0].update(status={"phase": "rejected"}, generation=4),
    ),
    ("done_is_kept", "an acknowledged request is gone", lambda told, end: end["capacity_requests"].clear()),
    ("done_is_kept", "an ended event is open", lambda told, end: end["events"].__setitem__(0, event(None, 3))),
    (
        "done_is_kept",
        "an acknowledged import is gone",
        lambda told, end: late(told, "import", "/v1/regions/east/import", 201, {"name": "east"}, key="k9"),
    ),
    (
        "done_is_kept",
        "a withdrawn request was granted",
        lambda told, end: late(
            told, "withdraw", "/v1/capacity-requests/1", 200, request("withdrawn", 3, status={"phase": "granted"})
        ),
    ),
    (
        "done_at_most_once",
        "a create was carried out twice",
        lambda told, end: end["capacity_requests"].append(request("granted", 3, capacity_request_id=2)),
    ),
    (
        "done_at_most_once",
        "a refused create was carried out",
        lambda told, end: (
            late(told, "create", "/v1/reservations", 422, {}, key="k9", body={"name": "db"}),
            end["capacity_requests"].append(request("granted", 3, capacity_request_id=2, reservation="db")),
        ),
    ),
    ("done_is_on_the_trail", "a write has no entry", lambda told, end: end["audit"].pop(0)),
    (
        "done_is_on_the_trail",
        "a write has two entries",
        lambda told, end: end["audit"].append(entry("submit", "capacity_request", 1)),
    ),
    ("done_is_on_the_trail", "in_use has no entry", lambda told, end: end["audit"].pop()),
    (
        "deletes_stay_deleted",
        "a deleted reservation is shown again",
        lambda told, end: (
            late(told, "delete", "/v1/reservations/5", 200, request("granted", 5, kind="delete"), generation=1),
            late(told, "get_reservation", "/v1/reservations/5", 200, reservation()),
        ),
    ),
    (
        "one_reservation_at_a_time",
        "a server joins twice",
        lambda told, end: end["moves"].append(move(3, "db") | {"move_id": 30}),
    ),
    (
        "one_reservation_at_a_time",
        "a server is where no move brought it",
        lambda told, end: end["servers"].append(server(7, "msb-1")),
    ),
    ("moves_end_where_they_say", "a move runs for ever", lambda told, end: end["moves"][0].update(status="running")),
    (
        "moves_end_where_they_say",
        "a step was done twice",
        lambda told, end: end["moves"][0].update(move(1, "web", "clean", "clean", "join")),
    ),
    (
        "moves_end_where_they_say",
        "a server that is up is not where it should be",
        lambda told, end: end["servers"][3].update(target_reservation="web"),
    ),
    ("granted_is_covered", "a granted reservation lacks a server", lambda told, end: end["servers"].pop(1)),
    (
        "granted_is_covered",
        "a shortfall is not as it is said",
        lambda told, end: end["reservations"][0]["status"].update(target={"shortfall_rru": 7.0}),
    ),
    ("comes_to_rest", "it is never quiet", lambda told, end: end.update(quiet_s=None, waits_for="a move")),
    (
        "comes_to_rest",
        "a request is never decided",
        lambda told, end: end["capacity_requests"][0].update(status={"phase": "assessing"}),
    ),
    (
        "comes_to_rest",
        "an assessment waits for ever",
        lambda told, end: end["jobs"].append({"job_id": 1, "kind": "assess", "subject": "1", "status": "queued"}),
    ),
]


@pytest.mark.parametrize(("rule", "lie", "spoil"), LIES, ids=[lie for _, lie, _ in LIES])
def test_a_lie_is_found(rule: str, lie: str, spoil: Spoil) -> None:
    told = well()
    spoil(told, told.records[-1])
    assert rule in {violation.rule for violation in judge(history(told))}, lie


def test_every_rule_is_tested() -> None:
    assert {rule for rule, _, _ in LIES} == {rule.__name__ for rule in RULES}


def test_a_run_that_did_not_end_is_no_success() -> None:
    told = well()
    told.records.pop()
    assert {violation.rule for violation in judge(History.of(told.records))} == {"done_is_kept"}


def test_what_is_not_known_may_have_been_done_or_not() -> None:
    for done in (False, True):
        told = well()
        end = told.records.pop()
        told.op("create", "POST", "/v1/reservations", None, (503, {}), key="k9", body={"name": "db"})
        if done:
            end["capacity_requests"].append(request("rejected", 3, capacity_request_id=2, reservation="db"))
        told.records.append(end)
        assert judge(history(told)) == []
