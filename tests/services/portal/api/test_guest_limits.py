"""Quotas and approvals see a guest as a part of its host."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from psycopg.types.json import Jsonb

from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from services.portal.reconcilers.enqueue_assessments import EnqueueAssessments
from tests.services.portal.conftest import create
from tests.services.portal.guest_requests import decided, granted, guest, resize, row_of


@pytest.mark.usefixtures("web")
def test_the_quota_counts_the_host_with_the_measure_of_its_guest(
    client: TestClient, admin: TestClient, assess_all: Callable[[], None]
) -> None:
    def used() -> float:
        return admin.get("/v1/quotas/west/team").json()["used_cost_units"]

    limit = admin.put("/v1/quotas/west/team", json={"limit_cost_units": 18}, headers={"If-Match": '"0"'})
    assert limit.status_code in (200, 201), limit.text
    before = used()
    refused = decided(client, assess_all, guest(capacity_rru=40))
    assert (refused["phase"], refused["reason"]) == ("rejected", "QuotaExceeded"), refused
    granted(client, assess_all, guest(capacity_rru=4))
    assert before < used() <= 18


@pytest.mark.usefixtures("web")
def test_the_quota_counts_earlier_requests_for_the_same_servers(
    client: TestClient, admin: TestClient, assess_all: Callable[[], None]
) -> None:
    limit = admin.put("/v1/quotas/west/team", json={"limit_cost_units": 22}, headers={"If-Match": '"0"'})
    assert limit.status_code in (200, 201), limit.text

    def counted() -> float:
        quota = admin.get("/v1/quotas/west/team").json()
        return quota["used_cost_units"] + quota["pending_cost_units"]

    def dry_run(body: dict) -> dict:
        answer = client.post("/v1/capacity-requests", params={"dry_run": True}, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["status"]

    second = guest("batch", share=0.3, capacity_rru=6)
    assert dry_run(second)["phase"] == "granted"
    first = client.post("/v1/capacity-requests", json=guest(share=0.4, capacity_rru=6))
    assert first.status_code == 201, first.text
    early, alone = dry_run(second), counted()
    assert (early["phase"], early["reason"]) == ("rejected", "QuotaExceeded"), early
    both = client.post("/v1/capacity-requests", json=second)
    numbers = early["numbers"]
    together = numbers["used_cost_units"] + numbers["pending_cost_units"] + numbers["asked_cost_units"]
    assert counted() == pytest.approx(together)
    assert together > 22 >= alone
    assess_all()
    found = [client.get(one.headers["location"]).json()["status"] for one in (first, both)]
    assert [(one["phase"], one["reason"]) for one in found] == [("granted", "Granted"), ("rejected", "QuotaExceeded")]


@pytest.mark.usefixtures("web")
def test_a_smaller_share_for_the_same_capacity_asks_for_more(
    client: TestClient, admin: TestClient, assess_all: Callable[[], None]
) -> None:
    granted(client, assess_all, guest(capacity_rru=12))
    limits = {"size_cost_units": 1, "four_eyes": False}
    put = admin.put("/v1/regions/west/approval-limits", json=limits, headers={"If-Match": '"0"'})
    assert put.status_code in (200, 201), put.text
    for change, phase in (({"capacity_rru": 11}, "granted"), ({"guest_share": 0.2}, "awaiting_approval")):
        answer = resize(client, "cache", change)
        assess_all()
        found = client.get(f"/v1/capacity-requests/{answer.json()['capacity_request_id']}")
        assert found.json()["status"]["phase"] == phase, (change, found.json()["status"])


@pytest.mark.usefixtures("web")
def test_a_request_that_no_approval_can_help_is_decided(
    client: TestClient, admin: TestClient, database: Database, assess_all: Callable[[], None]
) -> None:
    limits = {"size_cost_units": 1, "four_eyes": False}
    put = admin.put("/v1/regions/west/approval-limits", json=limits, headers={"If-Match": '"0"'})
    assert put.status_code in (200, 201), put.text
    ends_at = datetime.now(UTC) + timedelta(hours=1)
    short = create("short", spec={"capacity_rru": 4, "rru": {"hw-a": 1}, "ends_at": ends_at.isoformat()})
    answers = [
        client.post("/v1/capacity-requests", json=guest()),
        resize(client, "web", {"capacity_rru": 16}),
        client.post("/v1/capacity-requests", json=short),
        resize(client, "old", {"capacity_rru": 16}),
    ]
    urls = [f"/v1/capacity-requests/{one.json()['capacity_request_id']}" for one in answers]

    def told() -> list[tuple[str, str]]:
        EnqueueAssessments(database, SystemClock()).reconcile()
        assess_all()
        found = [client.get(url).json()["status"] for url in urls]
        return [(one["phase"], one["reason"]) for one in found]

    assess_all()
    waits = ("awaiting_approval", "NeedsApproval")
    assert told() == [waits] * 4
    row = row_of(client, "web")
    url = f"/v1/reservations/{row['reservation_id']}"
    assert client.delete(url, headers={"If-Match": f'"{row["generation"]}"'}).status_code == 200
    gone = [("rejected", "CannotBeGuest"), ("rejected", "ReservationDeleted")]
    assert told() == [*gone, waits, waits]
    approvals = client.get("/v1/approvals", params={"region": "west"}).json()["items"]
    assert [one["status"] for one in approvals] == ["pending", "pending", "superseded", "superseded"]
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET generation = generation + 1 WHERE name = 'old'"))
        over = {"spec": Jsonb({"ends_at": (datetime.now(UTC) - timedelta(hours=1)).isoformat()})}
        tx.execute(sa.text("UPDATE capacity_requests SET spec = spec || :spec WHERE reservation_name = 'short'"), over)
    assert told() == [*gone, ("rejected", "WindowOver"), ("rejected", "ReservationChanged")]
