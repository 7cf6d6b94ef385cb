"""The RRU catalogue: versions that wait for approval, requests that name a class, and values of a request's own."""

from datetime import timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import ScaledClock, SystemClock
from libs.store.capacity.quotas import load_quota
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from services.portal.reconcilers.advance_windows import AdvanceWindows
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import create
from tests.services.portal.reconcilers.test_assess_capacity_request import assess

WEB = {"hw-a": 1.0, "hw-b": 2.0}
PATH = "/v1/regions/west/rru-classes/web"


@pytest.fixture
def operator(app: FastAPI, database: Database):
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@pytest.fixture
def solve(database: Database, tmp_path: Path):
    settings = SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path, "PLIMSOLL_BUNDLES_MAX": 1})
    return lambda: SolveBindings(database, SystemClock(), settings, "west", "test").reconcile()


def propose(client: TestClient, rru: dict, version: int = 0, name: str = "web", **more: object):
    body = {"rru": rru, **more}
    return client.put(f"/v1/regions/west/rru-classes/{name}", json=body, headers={"If-Match": f'"{version}"'})


def approve(client: TestClient, approval: dict) -> int:
    path, match = f"/v1/approvals/{approval['approval_id']}", {"If-Match": f'"{approval["generation"]}"'}
    return client.post(f"{path}/approve", json={"reason": "measured"}, headers=match).status_code


def put(client: TestClient, rru: dict, version: int = 0, name: str = "web") -> dict:
    asked = propose(client, rru, version, name, reference="hw-a", reason="load tests")
    assert asked.status_code == 202, asked.text
    assert approve(client, asked.json()) == 200
    return asked.json()


def by_class(capacity_rru: float, **more: object) -> dict:
    return {"capacity_rru": capacity_rru, "workload_class": "web", "survives_msb_loss": False, **more}


def ask(client: TestClient, database: Database, name: str, spec: dict):
    sent = client.post("/v1/capacity-requests", json=create(name, spec))
    assert sent.status_code == 201, sent.text
    return assess(database, sent.json()["capacity_request_id"])


def test_a_version_waits_is_approved_and_stays(operator: TestClient, client: TestClient, database: Database) -> None:
    asked = propose(operator, WEB, reference="hw-a", reason="load tests")
    assert (asked.status_code, asked.json()["kind"], asked.json()["before"]) == (202, "rru_class", None)
    assert client.get(PATH).status_code == 404
    again = propose(operator, {"hw-a": 1.0}, reference="hw-a").json()
    of_cache = propose(operator, WEB, name="cache", reference="hw-a").json()
    old = operator.get(f"/v1/approvals/{asked.json()['approval_id']}").json()
    assert (old["status"], old["superseded_by"], old["about"]) == (
        "superseded",
        again["approval_id"],
        "class web of west",
    )
    assert (of_cache["status"], of_cache["about"]) == ("pending", "class cache of west")
    assert approve(operator, again) == 200
    put(operator, WEB, 1)
    found = client.get(PATH)
    assert (found.headers["ETag"], found.json()["rru"], found.json()["approved_by"]) == ('"2"', WEB, "olga")
    versions = client.get(f"{PATH}/versions").json()["items"]
    assert [(one["version"], one["rru"]) for one in versions] == [(2, WEB), (1, {"hw-a": 1.0})]
    put(operator, {"hw-a": 1.0, "hw-b": 3.0}, name="batch")
    assert [one["workload_class"] for one in client.get("/v1/regions/west/rru-classes").json()["items"]] == [
        "web",
        "batch",
    ]
    with database.snapshot() as tx:
        trail = [e for e in list_entries(tx, subject_kind="region").items if e.action == "ask_for_rru_class"]
    assert [(e.actor, e.reason) for e in trail if e.after["version"] == 2] == [("olga", "load tests")]


def test_a_wrong_version_is_refused_by_name(operator: TestClient, client: TestClient) -> None:
    def fields(answer) -> list[str]:
        return [error["field"] for error in answer.json()["errors"]]

    assert fields(propose(operator, WEB)) == ["reference"]
    assert fields(propose(operator, {"hw-a": 2.0}, reference="hw-a")) == ["rru.hw-a"]
    assert fields(propose(operator, {"hw-x": 2.0}, reference="hw-a")) == ["rru.hw-x"]
    assert fields(propose(operator, {"hw-a": 0.0}, reference="hw-a")) == ["rru.hw-a"]
    put(operator, WEB)
    assert fields(propose(operator, {"hw-b": 1.0}, reference="hw-b", name="batch")) == ["reference"]
    assert propose(operator, WEB, 0).json()["found_generation"] == 1
    assert propose(client, WEB, 1).status_code == 403
    wrong = client.post("/v1/capacity-requests", json=create("w", by_class(1) | {"workload_class": "wbe"}))
    assert (fields(wrong), wrong.json()["errors"][0]["known"]) == (["spec.workload_class"], ["web"])
    both = client.post("/v1/capacity-requests", json=create("w", by_class(1, rru=WEB)))
    assert fields(both) == ["spec.rru"]


def test_a_request_that_names_a_class_follows_it(operator, client, database: Database, solve) -> None:
    put(operator, WEB)
    assert ask(client, database, "web", by_class(8)).phase == "granted"
    [reservation] = client.get("/v1/reservations?name=web").json()["items"]
    assert (reservation["spec"]["workload_class"], reservation["spec"]["rru"]) == ("web", WEB)
    solve()
    before = client.get(f"/v1/reservations/{reservation['reservation_id']}").json()
    assert before["generation"] == 1  # a solve that changes no value raises no generation
    servers = before["status"]["target"]["servers"]
    half = put(operator, {"hw-a": 1.0, "hw-b": 0.5}, 1)
    short = {cause["reason"]: cause for cause in half["causes"]}
    assert "hw-b 2 to 0.5 (-75.0%)" in short["CatalogueChange"]["message"]
    assert "web by" in short["LeavesShort"]["message"]
    assert short["LeavesShort"]["numbers"]["short_rru_web"] > 0
    solve()
    after = client.get(f"/v1/reservations/{reservation['reservation_id']}").json()
    assert (after["spec"]["rru"]["hw-b"], after["generation"]) == (0.5, 2)
    assert after["status"]["target"]["shortfall_rru"] == 0
    assert after["status"]["target"]["servers"] > servers
    resized = client.patch(
        f"/v1/reservations/{reservation['reservation_id']}",
        json={"spec": {"capacity_rru": 4}},
        headers={"If-Match": '"2"'},
    ).json()
    assert assess(database, resized["capacity_request_id"]).phase == "granted"
    assert client.get(f"/v1/reservations/{reservation['reservation_id']}").json()["spec"]["workload_class"] == "web"


def test_a_request_of_before_takes_the_class_of_now(operator, client, database: Database) -> None:
    put(operator, WEB)
    sent = client.post("/v1/capacity-requests", json=create("web", by_class(4))).json()
    put(operator, {"hw-a": 1.0, "hw-b": 4.0}, 1)
    assert assess(database, sent["capacity_request_id"]).phase == "granted"
    assert client.get("/v1/reservations?name=web").json()["items"][0]["spec"]["rru"]["hw-b"] == 4.0


def test_what_is_scheduled_takes_the_class_of_its_beginning(operator, client, database: Database, solve) -> None:
    put(operator, WEB)
    begins = SystemClock().now() + timedelta(hours=2)
    request = ask(client, database, "later", by_class(4, starts_at=begins.isoformat()))
    assert request.phase == "scheduled"
    put(operator, {"hw-a": 1.0, "hw-b": 4.0}, 1)
    solve()
    then = ScaledClock(origin=begins, real_origin=SystemClock().now(), speed=1.0)
    assert AdvanceWindows(database, then, "west").reconcile() == (1, 0)
    assert AssessCapacityRequest(database, then, request.capacity_request_id).reconcile().phase == "granted"
    assert client.get("/v1/reservations?name=later").json()["items"][0]["spec"]["rru"]["hw-b"] == 4.0


def test_values_of_its_own_wait_and_are_compared(operator, client, database: Database) -> None:
    own = {"capacity_rru": 1, "rru": {"hw-a": 0.5, "hw-b": 2.2}, "survives_msb_loss": False}
    assert ask(client, database, "before", own).phase == "granted"  # the region has no catalogue yet
    put(operator, WEB)
    put(operator, {"hw-a": 1.0, "hw-b": 9.0}, name="batch")
    waits = ask(client, database, "own", own)
    assert (waits.phase, waits.reason) == ("awaiting_approval", "NeedsApproval")
    assert "the nearest class web: hw-a 0.5 (-50%), hw-b 2.2 (+10%)" in waits.message
    assert waits.numbers["differs_hw-a"] == -0.5
    [approval] = operator.get("/v1/approvals?status=pending").json()["items"]
    assert approve(operator, approval) == 200
    assert assess(database, waits.capacity_request_id).phase == "granted"
    counted = {"count": 2, "hardware_types": ["hw-a"], "survives_msb_loss": False}
    assert ask(client, database, "counted", counted).phase == "granted"
    # what has its own values keeps them, and asks a person only for others
    for spec, phase in (({"capacity_rru": 2}, "granted"), ({"rru": {"hw-a": 0.7}}, "awaiting_approval")):
        body = {"kind": "resize", "region": "west", "reservation": "before", "spec": spec}
        sent = client.post("/v1/capacity-requests", json=body).json()
        assert assess(database, sent["capacity_request_id"]).phase == phase


def test_a_type_without_cost_units_counts_its_reference_rru(operator, client, database: Database) -> None:
    put(operator, WEB)
    put(operator, {"hw-a": 1.0, "hw-b": 4.5}, name="batch")
    assert ask(client, database, "web", by_class(6)).phase == "granted"
    with database.snapshot() as tx:
        quota = load_quota(tx, "west", "team")
    assert quota.used_cost_units == pytest.approx(2 + max(6 * 1.0, 3 * (2.0 * 4.5) ** 0.5))


def test_an_approval_of_one_class_too_many_is_refused_and_waits(operator, monkeypatch) -> None:
    monkeypatch.setattr("services.portal.propose_rru.CLASSES_MAX", 1)
    web, batch = (propose(operator, WEB, name=name, reference="hw-a").json() for name in ("web", "batch"))
    assert approve(operator, web) == 200
    path, match = f"/v1/approvals/{batch['approval_id']}", {"If-Match": f'"{batch["generation"]}"'}
    refused = operator.post(f"{path}/approve", json={"reason": "measured"}, headers=match)
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_classes")
    assert operator.get(path).json()["status"] == "pending"
    put(operator, {"hw-a": 1.0}, 1)


def retire(client: TestClient, version: int, name: str = "web", reason: str = "no longer used"):
    path = f"/v1/regions/west/rru-classes/{name}?reason={reason}"
    return client.delete(path, headers={"If-Match": f'"{version}"'})


def test_a_class_is_retired_when_no_reservation_follows_it(operator, client, database: Database) -> None:
    put(operator, WEB)
    put(operator, {"hw-a": 1.0}, name="batch")
    assert ask(client, database, "web", by_class(4)).phase == "granted"
    begins = (SystemClock().now() + timedelta(days=1)).isoformat()
    assert ask(client, database, "later", by_class(4, starts_at=begins)).phase == "scheduled"
    used = retire(operator, 1)
    assert (used.status_code, used.json()["code"], used.json()["reservations"]) == (
        409,
        "class_in_use",
        ["later", "web"],
    )
    assert "later, web in west follow class web" in used.json()["detail"]
    for one in client.get("/v1/reservations").json()["items"]:
        if one["spec"]["workload_class"]:
            path = f"/v1/reservations/{one['reservation_id']}"
            assert client.delete(path, headers={"If-Match": f'"{one["generation"]}"'}).status_code == 200
    waiting = client.post("/v1/capacity-requests", json=create("waiting", by_class(1))).json()["capacity_request_id"]
    assert retire(operator, 2).json()["code"] == "stale_generation"
    assert retire(client, 1).status_code == 403
    asked = retire(operator, 1)
    assert (asked.status_code, asked.json()["kind"], asked.json()["change"]["rru"]) == (202, "rru_class", {})
    assert "retires it" in asked.json()["causes"][0]["message"]
    assert client.get(PATH).json()["rru"] == WEB
    assert approve(operator, asked.json()) == 200
    found = client.get(PATH).json()
    assert (found["version"], found["rru"], found["reason"]) == (2, {}, "no longer used")
    assert [one["workload_class"] for one in client.get("/v1/regions/west/rru-classes").json()["items"]] == ["batch"]
    wrong = client.post("/v1/capacity-requests", json=create("w", by_class(1)))
    assert wrong.json()["errors"][0]["known"] == ["batch"]
    assert assess(database, waiting).phase == "awaiting_approval"  # its values are its own now
    assert retire(operator, 2).status_code == 404
    assert retire(operator, 1, "unheard").status_code == 404
    put(operator, WEB, 2)
    assert client.get(PATH).json()["version"] == 3
    with database.snapshot() as tx:
        trail = [e for e in list_entries(tx, subject_kind="region").items if e.action == "ask_for_rru_class"]
    assert [(e.actor, e.reason) for e in trail if e.after["rru"] == {}] == [("olga", "no longer used")]


def test_a_retirement_is_refused_if_a_reservation_came_meanwhile(operator, client, database: Database) -> None:
    put(operator, WEB)
    asked = retire(operator, 1).json()
    assert ask(client, database, "web", by_class(4)).phase == "granted"
    assert approve(operator, asked) == 409
    assert client.get(PATH).json()["version"] == 1
    assert operator.get(f"/v1/approvals/{asked['approval_id']}").json()["status"] == "pending"
