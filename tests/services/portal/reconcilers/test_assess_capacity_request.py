"""Repeated, concurrent or interrupted assessments make one reservation, and give no server twice."""

import multiprocessing
import os
import signal
import threading

import pytest
from fastapi.testclient import TestClient

from libs.domain.capacity_request import CapacityRequestPhase
from libs.domain.plan import PlanKind
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import ASSESS
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.portal.reconcilers import assess_capacity_request
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.portal.reconcilers.enqueue_assessments import EnqueueAssessments
from services.portal.reconcilers.forget_idempotency_keys import ForgetIdempotencyKeys
from tests.builders.stored import plan_of
from tests.services.portal.conftest import WEB, create


def assess(database: Database, capacity_request_id: int):
    return AssessCapacityRequest(database, SystemClock(), capacity_request_id).reconcile()


def ask(client: TestClient, name: str = "web", **spec: object) -> int:
    answer = client.post("/v1/capacity-requests", json=create(name, WEB | spec))
    assert answer.status_code == 201, answer.text
    return answer.json()["capacity_request_id"]


def test_twice_is_once(client: TestClient, database: Database) -> None:
    request_id = ask(client)
    first, second = assess(database, request_id), assess(database, request_id)
    assert first == second
    assert first.phase is CapacityRequestPhase.GRANTED
    assert len(client.get("/v1/reservations?name=web").json()["items"]) == 1


def test_many_at_once_share_what_is_free(client: TestClient, database: Database) -> None:
    ids = [ask(client, f"web-{i}", capacity_rru=9, survives_msb_loss=False) for i in range(4)] * 2
    failures: list[BaseException] = []

    def run(request_id: int) -> None:
        try:
            assess(database, request_id)
        except BaseException as failure:  # a thread's exception would be lost
            failures.append(failure)

    threads = [threading.Thread(target=run, args=[request_id]) for request_id in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    phases = [client.get(f"/v1/capacity-requests/{i}").json()["status"]["phase"] for i in ids[:4]]
    assert phases == ["granted"] * 4
    reservations = client.get("/v1/reservations?owner=team").json()["items"]
    names = sorted(r["name"] for r in reservations if r["name"].startswith("web"))
    assert names == ["web-0", "web-1", "web-2", "web-3"]
    for reservation in reservations:
        assert reservation["status"]["shortfall_rru"] == 0 or not reservation["name"].startswith("web")


def _die_at(url: str, request_id: int, point: str) -> None:
    os.environ["PLIMSOLL_CRASH_AT"] = point
    assess(Database(url), request_id)


def killed_at(url: str, request_id: int, point: str) -> bool:
    """Whether a process that assesses a request dies at a crash point.

    It is forked from one that has imported this file and has no threads: an import takes 2 s of a core.
    """
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    process = processes.Process(target=_die_at, args=(url, request_id, point))
    process.start()
    process.join()
    return process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("step", ["begin.before", "begin.after", "accept.before", "accept.after"])
def test_killed_anywhere_and_run_again_it_is_done_once(client, database, database_url: str, step: str) -> None:
    request_id = ask(client)
    assert killed_at(database_url, request_id, f"portal.assess.{step}")
    assert assess(database, request_id).phase is CapacityRequestPhase.GRANTED
    (reservation,) = client.get("/v1/reservations?name=web").json()["items"]
    assert reservation["status"]["shortfall_rru"] == 0
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, "west")
    row = snapshot.reservations.name.tolist().index("web")
    assert (snapshot.servers.target == row).sum() == reservation["status"]["target"]["servers"]


def test_a_rejection_survives_a_kill_too(client, database, database_url: str) -> None:
    for step in ("reject.before", "reject.after"):
        request_id = ask(client, f"huge-{step}", capacity_rru=4000)
        assert killed_at(database_url, request_id, f"portal.assess.{step}")
        assert assess(database, request_id).phase is CapacityRequestPhase.REJECTED


def test_a_server_that_changes_meanwhile_starts_it_again(client, database, monkeypatch) -> None:
    request_id = ask(client, capacity_rru=9)
    other = ask(client, "other", capacity_rru=9)
    real, seen = assess_capacity_request.judge, []

    def judge_slowly(case):
        found = real(case)
        if not seen:
            seen.append(True)
            assess(database, other)
        return found

    monkeypatch.setattr(assess_capacity_request, "judge", judge_slowly)
    assert assess(database, request_id).phase is CapacityRequestPhase.GRANTED
    for name in ("web", "other"):
        (reservation,) = client.get(f"/v1/reservations?name={name}").json()["items"]
        assert reservation["status"]["shortfall_rru"] == 0


def test_others_who_are_always_quicker_leave_it_to_the_next_tick(client, database, monkeypatch) -> None:
    from libs.reconcile.errors import StaleGeneration

    request_id = ask(client)

    def stale(*arguments, **keywords):
        raise StaleGeneration("server", 1, expected=1, found=2)

    monkeypatch.setattr(assess_capacity_request, "commit_plan", stale)
    with pytest.raises(StaleGeneration):
        assess(database, request_id)
    assert client.get("/v1/reservations?name=web").json()["items"] == []
    assert client.get(f"/v1/capacity-requests/{request_id}").json()["status"]["phase"] == "assessing"
    monkeypatch.undo()
    assert assess(database, request_id).phase is CapacityRequestPhase.GRANTED


def test_a_solve_that_takes_its_servers_meanwhile_is_seen(client, database, monkeypatch) -> None:
    """The resize counts on servers that the reservation has. A solve gives them away before the commit."""
    assess(database, ask(client, capacity_rru=6, survives_msb_loss=False))
    (web,) = client.get("/v1/reservations?name=web").json()["items"]
    change = {"spec": {"capacity_rru": 7}}
    asked = client.patch(f"/v1/reservations/{web['reservation_id']}", json=change, headers={"If-Match": '"1"'})
    real, given = assess_capacity_request.judge, []

    def judge_slowly(case):
        found = real(case)
        if not given:
            with database.snapshot() as tx:
                snapshot = load_fleet_snapshot(tx, "west")
            row = snapshot.reservations.name.tolist().index("web")
            given.extend(snapshot.servers.name[snapshot.servers.target == row])
            plan = plan_of(snapshot, dict.fromkeys(given))
            now = SystemClock().now()
            with database.write() as tx:
                commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, now=now, parent=snapshot.target_plan_id)
        return found

    monkeypatch.setattr(assess_capacity_request, "judge", judge_slowly)
    assert assess(database, asked.json()["capacity_request_id"]).phase is CapacityRequestPhase.GRANTED
    (web,) = client.get("/v1/reservations?name=web").json()["items"]
    assert given
    assert (web["spec"]["capacity_rru"], web["status"]["shortfall_rru"]) == (7, 0)


def test_what_was_asked_first_wins_and_the_other_is_told(client: TestClient, database: Database) -> None:
    first, second = ask(client), ask(client)
    assess(database, first)
    told = assess(database, second)
    assert (told.phase, told.reason) == (CapacityRequestPhase.REJECTED, "NameTaken")
    assert "another name" in told.message
    reservation_id = assess(database, first).reservation_id
    url, match = f"/v1/reservations/{reservation_id}", {"If-Match": '"1"'}
    ids = [
        client.patch(url, json={"spec": {"capacity_rru": rru}}, headers=match).json()["capacity_request_id"]
        for rru in (7, 8)
    ]
    assert assess(database, ids[0]).phase is CapacityRequestPhase.GRANTED
    told = assess(database, ids[1])
    assert (told.phase, told.reason) == (CapacityRequestPhase.REJECTED, "ReservationChanged")
    later = client.patch(url, json={"spec": {"capacity_rru": 9}}, headers={"If-Match": '"2"'}).json()[
        "capacity_request_id"
    ]
    assert client.delete(url, headers={"If-Match": '"2"'}).status_code == 200
    told = assess(database, later)
    assert (told.phase, told.reason) == (CapacityRequestPhase.REJECTED, "ReservationDeleted")


def test_what_waits_without_a_job_is_queued_again(client: TestClient, database: Database) -> None:
    request_id = ask(client)
    with database.snapshot() as tx:
        (job,) = list_jobs(tx).items
    assert (job.kind, job.subject) == (ASSESS, str(request_id))
    assert EnqueueAssessments(database, SystemClock()).reconcile() == 0
    from libs.store.platform.jobs import claim_job, fail_attempt

    with database.write() as tx:
        claimed = claim_job(tx, job.job_id, worker="w", lease_s=60)
        assert claimed is not None
    assert EnqueueAssessments(database, SystemClock()).reconcile() == 0
    with database.write() as tx:
        assert fail_attempt(tx, claimed, "broken", attempts_max=1)
    assert EnqueueAssessments(database, SystemClock()).reconcile() == 1
    assert EnqueueAssessments(database, SystemClock()).reconcile() == 0
    assess(database, request_id)
    assert ForgetIdempotencyKeys(database).reconcile() == 0
