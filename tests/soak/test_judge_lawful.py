"""Lawful but strange behaviour of a platform is no violation."""

import pytest

from soak.judge import judge
from soak.judge.trail import done_is_on_the_trail
from tests.soak.histories import (
    approval,
    deleted,
    entry,
    history,
    job,
    late,
    move,
    request,
    resized_in_a_window,
    saw_grant,
    swap,
    well,
)


@pytest.mark.parametrize(
    "error",
    [
        "the worker host:1:ab died or lost the database",
        "OperationalError: (psycopg.OperationalError) consuming input failed",
        "StaleGeneration: server 7 is at generation 4, expected 3",
    ],
)
def test_a_job_may_lose_its_worker_or_the_database(error: str) -> None:
    told = well()
    told.records[-1]["jobs"].append(job("failed", error))
    assert judge(history(told)) == []


def test_an_answer_is_judged_by_its_key_alone() -> None:
    """A write repeated with its key is one write, and rests on one generation."""
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
    deleted(told)
    told.records[-1]["audit"] += [
        entry("submit", "capacity_request", 2),
        entry("delete", "reservation", 5),
        entry("withdraw", "capacity_request", 1),
    ]
    assert list(done_is_on_the_trail(history(told))) == []


def test_a_rejection_may_end_the_reservation_that_was_scheduled() -> None:
    told = well()
    late(told, "reject", "/v1/approvals/6/reject", 200, approval("rejected", 2), key="k9", generation=1)
    told.records[-1]["audit"] += [entry("reject", "approval", 6), entry("delete", "reservation", 5)]
    told.records[-1]["approvals"] = [approval("rejected", 2)]
    assert judge(history(told)) == []


def test_what_changes_nothing_may_rest_on_the_same_generation_as_often_as_it_likes() -> None:
    told = well()
    cancelled = {"retirement_id": 3, "status": "cancelled", "due_at": "2026-11-02", "generation": 2}
    for key, generation in (("k8", 1), ("k9", 2), ("k10", 2)):
        path = "/v1/retirements/3/cancel"
        late(told, "cancel_retirement", path, 200, cancelled, key=key, generation=generation)
    told.records[-1].update(retirements=[cancelled | {"region": "soak", "scope": "server", "scope_name": "server-9"}])
    told.records[-1]["audit"].append(entry("cancel", "retirement", 3))
    assert judge(history(told)) == []


def test_an_approval_may_be_superseded_by_an_amendment() -> None:
    told = well()
    swap(told, "k8", 1)
    told.records[-1]["approvals"] = [approval("superseded", 3)]
    told.records[-1]["audit"].append(entry("approve", "approval", 6))
    assert judge(history(told)) == []


def test_a_resize_of_what_begins_later_shows_the_generation_that_it_was_accepted_at() -> None:
    told = well()
    resized_in_a_window(told, told.records[-1], times=1)
    assert judge(history(told)) == []


def test_servers_that_were_announced_to_leave_do_not_count() -> None:
    for scope, name in (("server", "server-3"), ("rack", "rack-7")):
        told = well()
        end = told.records[-1]
        end["servers"][2]["rack"] = "rack-7"
        end["retirements"] = [{"retirement_id": 1, "region": "soak", "scope": scope, "scope_name": name}]
        end["retirements"][0] |= {"status": "announced", "due_at": "2026-11-02", "generation": 1}
        end["reservations"][0]["status"] = {"phase": "degraded", "target": {"shortfall_rru": 1.0}}
        assert judge(history(told)) == []


def test_whoever_asks_too_often_is_told_to_come_again_also_about_what_is_done() -> None:
    told = well()
    late(told, "end_event", "/v1/unavailability-events/9/end", 429, {}, key="k3")
    assert judge(history(told)) == []


def test_simulations_are_forgotten_when_there_are_many() -> None:
    told = well()
    late(told, "simulate", "/v1/simulations", 202, {"simulation_id": 1}, key="k9")
    told.records[-1]["simulations"] = [{"simulation_id": number, "status": "done"} for number in range(2, 102)]
    assert judge(history(told)) == []


@pytest.mark.parametrize("joined", [False, True])
def test_a_server_in_doubt_is_in_the_reservation_that_is_named_or_in_none(joined: bool) -> None:
    told = well()
    if joined:
        told.world(30, 4, "join", to="db")
    told.records[-1]["servers"][3].update(in_doubt_reservation="db", unavailability="unplanned")
    assert judge(history(told)) == []


def test_a_free_server_may_be_granted() -> None:
    told = well()
    saw_grant(told, None)
    assert [one.rule for one in judge(history(told))] == ["done_is_kept"], "it has no end, and that is all"


def test_a_lease_that_was_over_only_now_may_be_taken_back_yet() -> None:
    for over_s, since_sent_s in ((60.0, 58.0), (15.0, 0.1)):
        told = well()
        told.records[-1]["jobs"].append(job("running") | {"lease_over_s": over_s})
        told.records[-1]["since_sent_s"] = since_sent_s
        assert judge(history(told)) == []


def test_a_server_that_is_down_may_still_be_in_doubt() -> None:
    told = well()
    left = {"current_reservation": None, "in_doubt_reservation": "web", "unavailability": "unplanned"}
    told.records[-1]["servers"][2].update(left)
    assert not [found for found in judge(history(told)) if found.rule == "one_reservation_at_a_time"]
    told.records[-1]["servers"][2].update(in_doubt_reservation=None)
    assert [found for found in judge(history(told)) if found.rule == "one_reservation_at_a_time"]


def test_a_spare_server_joins_once_and_was_in_no_reservation_before() -> None:
    told = well()
    told.world(32, 5, "join", of="shared-buffer-hw-a", to="web")
    end = told.records[-1]
    end["moves"].append(move(5, "web") | {"from_reservation": "shared-buffer-hw-a"})
    end["servers"][4].update(current_reservation="web", target_reservation="web")
    broken = {found.rule for found in judge(history(told))}
    assert not broken & {"one_reservation_at_a_time", "joined_once", "joined_clean", "world_agrees"}
