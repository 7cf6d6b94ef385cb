"""The judge finds nothing in a lawful history, and finds each lie that a platform could tell."""

from collections.abc import Callable
from typing import Any

import pytest

from soak.judge import RULES, judge
from tests.soak import test_judge_executions
from tests.soak.histories import (
    Json,
    Records,
    deleted,
    entry,
    event,
    history,
    job,
    late,
    move,
    plan,
    request,
    reservation,
    resized_in_a_window,
    saw_grant,
    server,
    swap,
    well,
)

Spoil = Callable[[Records, Json], Any]


def test_a_history_in_which_all_is_well_is_accepted() -> None:
    assert judge(history(well())) == []


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
    ("joined_once", "a spare server joins", lambda told, end: told.world(31, 5, "join", to="shared-buffer-hw-a")),
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
        "a server in doubt is in another reservation than the one that is named",
        lambda told, end: (told.world(30, 4, "join", to="db"), end["servers"][3].update(in_doubt_reservation="web")),
    ),
    (
        "world_agrees",
        "a spare server was not cleaned",
        lambda told, end: (told.world(30, 5, "join", to="db"), told.world(30, 5, "preempt", of="db")),
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
    (
        "runs_fail_for_our_faults_only",
        "a solve fails for an error of its own",
        lambda told, end: end.update(solve_runs=[{"solve_run_id": 1, "status": "failed", "error": "KeyError: 'x'"}]),
    ),
    (
        "runs_fail_for_our_faults_only",
        "a plan is made that must not be carried out",
        lambda told, end: end.update(
            plan_runs=[{"plan_run_id": 1, "status": "failed", "reason": "PlanRefused", "error": "x"}]
        ),
    ),
    (
        "leases_are_taken_back",
        "a dead worker keeps its job",
        lambda told, end: (
            end["jobs"].append(job("running") | {"lease_over_s": 60.0}),
            end.update(since_sent_s=2.0),
        ),
    ),
    (
        "leases_are_taken_back",
        "a dead worker keeps its job while the run goes on",
        lambda told, end: told.held(job("running") | {"lease_over_s": 60.0}, since_sent_s=2.0),
    ),
    (
        "lineage_is_a_chain",
        "two placement plans follow the same one",
        lambda told, end: end.update(
            placement_plans=[
                {"placement_plan_id": number, "parent_placement_plan_id": 1, "committed": True} for number in (2, 3)
            ]
        ),
    ),
    (
        "grants_take_what_is_free",
        "a client sees a grant that takes a server from another reservation",
        lambda told, end: saw_grant(told, "db"),
    ),
    (
        "done_is_on_the_trail",
        "a deleted reservation has no entry",
        lambda told, end: (deleted(told), end["audit"].append(entry("submit", "capacity_request", 2))),
    ),
    (
        "done_at_most_once",
        "a resize in a window was carried out twice",
        lambda told, end: resized_in_a_window(told, end, times=2),
    ),
    (
        "done_is_kept",
        "a series of traffic is lost",
        lambda told, end: (
            late(told, "report_traffic", "/v1/traffic", 200, {}, body="minute,product,region,per_s\n1,shop,soak,2\n"),
            end["telemetry"][0].update(traffic={"series": 0}),
        ),
    ),
]


@pytest.mark.parametrize(("rule", "lie", "spoil"), LIES, ids=[lie for _, lie, _ in LIES])
def test_a_lie_is_found(rule: str, lie: str, spoil: Spoil) -> None:
    told = well()
    spoil(told, told.records[-1])
    assert rule in {violation.rule for violation in judge(history(told))}, lie


def test_every_rule_is_tested() -> None:
    assert {rule for rule, _, _ in [*LIES, *test_judge_executions.LIES]} == {rule.__name__ for rule in RULES}
