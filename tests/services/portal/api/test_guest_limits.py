"""Quotas and approvals see a guest as a part of its host."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from tests.services.portal.guest_requests import decided, granted, guest, resize


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
