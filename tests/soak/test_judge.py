"""The judge finds nothing where all is well, and each of the lies that a platform could tell."""

from collections.abc import Callable
from typing import Any

import pytest

from soak.history import History
from soak.judge import RULES, judge
from soak.judge.trail import done_is_on_the_trail
from tests.soak.histories import (
    Json,
    Records,
    approval,
    entry,
    event,
    history,
    job,
    move,
    plan,
    request,
    reservation,
    server,
    well,
)

Spoil = Callable[[Records, Json], Any]


def test_a_history_in_which_all_is_well_is_accepted() -> None:
    assert judge(history(well())) == []


def late(told: Records, what: str, path: str, status: int, answer: Json, **fields: Any) -> None:
    """Something that a client was told just before the end."""
    final = told.records.pop()
    told.op(what, "GET", path, (status, answer), **fields)
    told.records.append(final)


def swap(told: Records, key: str, generation: int) -> None:
    """An approval that was given on a generation."""
    final = told.records.pop()
    body = approval("approved", generation + 1)
    told.op("approve", "POST", "/v1/approvals/6/approve", (200, body), key=key, generation=generation)
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
        "shown_is_found",
        "what was shown is not there",
        lambda told, end: late(told, "get_request", "/v1/capacity-requests/1", 404, {}),
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
    (
        "one_write_a_generation",
        "two writes rest on the same generation",
        lambda told, end: [swap(told, key, 7) for key in ("k8", "k9")],
    ),
    (
        "done_is_kept",
        "an approval that was given is rejected",
        lambda told, end: (
            swap(told, "k8", 1),
            end["approvals"][0].update(status="rejected", generation=3),
        ),
    ),
    (
        "done_is_kept",
        "an amended request asks for what it was",
        lambda told, end: late(
            told,
            "amend",
            "/v1/capacity-requests/1",
            200,
            request("granted", 3, spec={"capacity_rru": 3.0}),
            key="k8",
            generation=2,
        ),
    ),
    (
        "done_is_kept",
        "acknowledged spans are not counted",
        lambda told, end: end["traced_services"][0].update(spans=1),
    ),
    (
        "done_is_kept",
        "a series that no client reported",
        lambda told, end: end["telemetry"][0]["usage"].update(series=2),
    ),
    (
        "done_is_on_the_trail",
        "a solve has no entry",
        lambda told, end: late(told, "solve", "/v1/solve-runs", 202, {"after_solve_run_id": 1}, key="k8"),
    ),
    (
        "done_is_on_the_trail",
        "an entry of a solve that no client asked for",
        lambda told, end: (
            late(told, "solve", "/v1/solve-runs", 422, {}, key="k8"),
            end["audit"].append(entry("ask_for_solve", "region", 1)),
        ),
    ),
    (
        "lineage_is_a_chain",
        "two solves follow the same plan",
        lambda told, end: end["plans"].append(plan(4, parent=2)),
    ),
    (
        "grants_take_what_is_free",
        "a grant takes a server from another reservation",
        lambda told, end: end["grants"][0]["made"].append({"server": "server-2", "from_reservation": "db"}),
    ),
    ("joined_once", "a server joins before it has left", lambda told, end: told.world(30, 1, "join", to="db")),
    ("joined_once", "a server is cleaned while it is used", lambda told, end: told.world(30, 1, "clean")),
    (
        "joined_clean",
        "a server joins with what the last one left",
        lambda told, end: (told.world(30, 1, "preempt", of="web"), told.world(30, 1, "join", to="db")),
    ),
    (
        "world_agrees",
        "a server is in a reservation that the platform does not know of",
        lambda told, end: told.world(30, 4, "join", to="db"),
    ),
    (
        "world_agrees",
        "a server has left a reservation that the platform thinks it is in",
        lambda told, end: told.world(30, 1, "preempt", of="web"),
    ),
    (
        "jobs_fail_for_our_faults_only",
        "a job fails for an error of its own",
        lambda told, end: end["jobs"].append(job("failed", "KeyError: 'rack-7'")),
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


@pytest.mark.parametrize(
    "error",
    [
        "the worker host:1:ab died or lost the database",
        "OperationalError: (psycopg.OperationalError) consuming input failed",
    ],
)
def test_a_job_may_lose_its_worker_or_the_database(error: str) -> None:
    told = well()
    told.records[-1]["jobs"].append(job("failed", error))
    assert judge(history(told)) == []


def test_an_answer_is_judged_by_its_key_alone() -> None:
    """The same write sent again with its key is one write, and rests on one generation."""
    told = well()
    for _ in range(2):
        swap(told, "k8", 1)
    told.records[-1]["audit"].append(entry("approve", "approval", 6))
    assert judge(history(told)) == []


def test_what_is_not_known_may_have_been_done_or_not() -> None:
    for done in (False, True):
        told = well()
        end = told.records.pop()
        told.op("create", "POST", "/v1/reservations", None, (503, {}), key="k9", body={"name": "db"})
        if done:
            end["capacity_requests"].append(request("rejected", 3, capacity_request_id=2, reservation="db"))
        told.records.append(end)
        assert judge(history(told)) == []


def test_a_delete_may_withdraw_the_request_that_waited_for_the_window() -> None:
    told = well()
    end = told.records.pop()
    told.op("delete", "DELETE", "/v1/reservations/5", (202, request(capacity_request_id=2)), key="k9", generation=1)
    end["audit"] += [entry("submit", "capacity_request", 2), entry("withdraw", "capacity_request", 1)]
    told.records.append(end)
    assert list(done_is_on_the_trail(history(told))) == []
