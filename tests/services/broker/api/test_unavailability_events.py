"""Report outages and ask for maintenance by requests."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.database import Database
from tests.builders.uploaded_region import pages
from tests.libs.web.conftest import bearer


def test_an_outage_is_reported_and_ends(operator: TestClient, imported: None) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "kind": "unplanned", "reason": "power"}
    made = operator.post("/v1/unavailability-events", json=body, headers={"Idempotency-Key": "outage-1"})
    assert made.status_code == 201
    event = operator.get(made.headers["Location"]).json()
    assert event == made.json()
    assert (
        operator.post("/v1/unavailability-events", json=body, headers={"Idempotency-Key": "outage-1"}).json() == event
    )
    down = [s["name"] for s in pages(operator, "/v1/servers", unavailability="unplanned")]
    assert down == ["server-00", "server-01", "server-02", "server-03", "server-07"]
    ended = operator.post(made.headers["Location"] + "/end")
    assert ended.status_code == 200
    assert ended.json()["ended_at"] is not None
    assert operator.post(made.headers["Location"] + "/end").json() == ended.json()
    assert [s["name"] for s in pages(operator, "/v1/servers", unavailability="unplanned")] == ["server-07"]
    still_open = [e["scope_name"] for e in pages(operator, "/v1/unavailability-events", region="west", open=True)]
    assert still_open == ["server-07"]


def test_maintenance_is_answered_now_later_or_not_at_all(operator: TestClient, imported: None) -> None:
    """Both MSBs have one rack of four servers, so one server of each may be in maintenance."""
    path = "/v1/unavailability-events"
    body = {"region": "west", "scope": "server", "scope_name": "server-01", "kind": "planned", "reason": "work"}

    def ask(**change: object) -> httpx.Response:
        return operator.post(path, json=body | change)

    foreseen = operator.post(f"{path}?dry_run=true", json=body)
    assert (foreseen.status_code, foreseen.json()["verdict"]) == (200, "now")
    assert [e["kind"] for e in pages(operator, path, region="west", open=True)] == ["unplanned"]
    now, later = ask(), ask(scope_name="server-04")
    assert (now.status_code, now.json()["state"], now.json()["answer"]["reason"]) == (201, "allowed", "Allowed")
    assert (later.status_code, later.json()["state"]) == (202, "queued")
    answer = later.json()["answer"]
    assert (answer["reason"], answer["waits_for"], answer["position"]) == (
        "OtherMsb",
        [now.json()["unavailability_event_id"]],
        1,
    )
    assert [e["scope_name"] for e in pages(operator, path, region="west", state="queued")] == ["server-04"]
    refused = ask(scope="rack", scope_name="rack-00")
    assert (refused.status_code, refused.json()["code"]) == (409, "maintenance_refused")
    assert refused.json()["answer"]["reason"] == "AboveQuarter"
    assert "rack rack-00 is refused: it takes 3 of the 4 servers of msb-00" in refused.json()["detail"]
    assert operator.post(now.headers["Location"] + "/end").json()["state"] == "allowed"
    assert operator.get(later.headers["Location"]).json()["state"] == "allowed"
    assert ask(scope="rack", scope_name="rack-00", override_reason="fire drill").json()["state"] == "allowed"


def test_only_operators_override(app: FastAPI, database: Database, operator: TestClient, imported: None) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "reason": "work", "override_reason": "drill"}
    health = TestClient(app, headers=bearer(database, Role.HEALTH, "dog"))
    refused = health.post("/v1/unavailability-events", json=body | {"kind": "planned"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    failure = operator.post("/v1/unavailability-events", json=body | {"kind": "unplanned"})
    assert (failure.status_code, failure.json()["errors"][0]["field"]) == (422, "override_reason")
    del body["override_reason"]
    foreseen = operator.post("/v1/unavailability-events?dry_run=true", json=body | {"kind": "unplanned"})
    assert (foreseen.status_code, foreseen.json()["errors"][0]["field"]) == (422, "dry_run")


@pytest.mark.parametrize(
    ("starts", "ends", "fields"),
    [
        (timedelta(days=-2), timedelta(days=-1), ["starts_at", "ends_at"]),
        (timedelta(days=-2), timedelta(days=1), ["starts_at"]),
        (timedelta(hours=-2), timedelta(hours=-1), ["ends_at"]),
        (timedelta(hours=-2), timedelta(hours=1), []),
    ],
)
def test_maintenance_in_the_past_is_refused_before_it_begins(
    operator: TestClient, imported: None, starts: timedelta, ends: timedelta, fields: list[str]
) -> None:
    """A wrong year would take the server at once. Failures are reported later than they happen, so they may."""
    path, now = "/v1/unavailability-events", datetime.now(UTC)
    body = {"region": "west", "scope": "server", "scope_name": "server-01", "reason": "work"}
    body |= {"starts_at": (now + starts).isoformat(), "ends_at": (now + ends).isoformat()}
    foreseen = operator.post(f"{path}?dry_run=true", json=body | {"kind": "planned"})
    asked = operator.post(path, json=body | {"kind": "planned"})
    assert [e["field"] for e in foreseen.json().get("errors", [])] == fields
    assert [e["field"] for e in asked.json().get("errors", [])] == fields
    assert operator.post(path, json=body | {"kind": "unplanned"}).status_code == 201


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"scope_name": "rack-99"}, 404, None),
        ({"region": "north"}, 404, None),
        ({"kind": "none"}, 422, "kind"),
        ({"scope": "planet"}, 422, "scope"),
        ({"starts_at": "2026-11-02T00:00:00Z", "ends_at": "2026-11-01T00:00:00Z"}, 422, "ends_at"),
        ({"ends_at": "9999-12-31T23:59:59-12:00"}, 422, "ends_at"),
        ({"starts_at": "2026-11-02T00:00:00"}, 422, "starts_at"),
        ({"reason": "line\nbreak"}, 422, "reason"),
    ],
)
def test_a_report_that_makes_no_sense(operator: TestClient, imported: None, change, status, field) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "kind": "planned", "reason": "work"}
    refused = operator.post("/v1/unavailability-events", json=body | change)
    assert refused.status_code == status
    assert [error["field"] for error in refused.json()["errors"]] == ([field] if field else [])
