"""Bound one owner's undecided requests, and the jobs behind them."""

import pytest
from fastapi.testclient import TestClient

from libs.domain.job import JobStatus
from libs.reconcile.jobs import ASSESS
from libs.store.platform.database import Database
from libs.store.platform.jobs import list_jobs
from services.portal import submit_requests as submissions
from tests.services.portal.conftest import create


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "UNDECIDED_MAX", 2)


def queued(database: Database) -> list[tuple[str, str | None]]:
    """Return (subject, lane) of the waiting assessments."""
    with database.snapshot() as tx:
        page = list_jobs(tx, status=JobStatus.QUEUED)
    return [(job.subject, job.lane) for job in page.items if job.kind == ASSESS]


def test_an_owner_with_many_undecided_requests_waits_and_others_do_not(
    client: TestClient, assess_all, database: Database
) -> None:
    asked = [client.post("/v1/capacity-requests", json=create(f"web-{i}")) for i in range(3)]
    assert [answer.status_code for answer in asked] == [201, 201, 429]
    problem = asked[2].json()
    assert problem["code"] == "too_many_undecided"
    assert "withdraw" in problem["detail"]
    assert asked[2].headers["Retry-After"] == "10"
    other = client.post("/v1/capacity-requests", json=create("other", owner="one"))
    assert other.status_code == 201
    lanes = [lane for _, lane in queued(database)]
    assert lanes == ["team", "team", "one"], "their assessments take turns by owner"
    old = client.get("/v1/reservations?name=old").json()["items"][0]
    gone = client.delete(f"/v1/reservations/{old['reservation_id']}", headers={"If-Match": f'"{old["generation"]}"'})
    assert gone.status_code < 300, "deleting one's own is never blocked"
    assess_all()
    assert client.post("/v1/capacity-requests", json=create("web-3")).status_code == 201


def test_a_request_that_is_withdrawn_leaves_no_job(client: TestClient, database: Database) -> None:
    kept, gone = (client.post("/v1/capacity-requests", json=create(name)) for name in ("kept", "gone"))
    withdrawn = client.delete(gone.headers["Location"], headers={"If-Match": gone.headers["ETag"]})
    assert withdrawn.json()["status"]["phase"] == "withdrawn"
    assert queued(database) == [(str(kept.json()["capacity_request_id"]), "team")]
    assert client.post("/v1/capacity-requests", json=create("instead")).status_code == 201, "there is room again"
