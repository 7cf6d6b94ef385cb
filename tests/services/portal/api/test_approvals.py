"""Test approvals in the order of a story."""

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import WEB, create
from tests.services.portal.reconcilers.test_assess_capacity_request import ask, assess


@pytest.fixture
def operator(app: FastAPI, database: Database):
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


def set_limits(admin: TestClient, **limits: object) -> None:
    url = "/v1/regions/west/approval-limits"
    generation = admin.get(url).json()["generation"]
    answer = admin.put(url, json=limits, headers={"If-Match": f'"{generation}"'})
    assert answer.status_code == 200, answer.text


def waiting(client: TestClient) -> dict[str, object]:
    [approval] = client.get("/v1/approvals?status=pending&region=west").json()["items"]
    return approval


def decide(client: TestClient, approval: dict[str, object], what: str, reason: str = "reviewed"):
    url, match = f"/v1/approvals/{approval['approval_id']}/{what}", {"If-Match": f'"{approval["generation"]}"'}
    return client.post(url, json={"reason": reason}, headers=match)


def test_the_servers_that_it_would_get_count_too(admin, client, database: Database) -> None:
    """6 RRU over 4 MSBs take 8 servers. While an MSB has none, they take 9 of the other three."""
    set_limits(admin, size_cost_units=8)
    body = create(spec={"capacity_rru": 6, "rru": {"hw-a": 1}})
    assert client.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]["phase"] == "granted"
    with database.write() as tx:
        tx.execute(
            sa.text("""
                UPDATE servers SET unavailability = 'unplanned'
                FROM racks JOIN msbs USING (msb_id) WHERE racks.rack_id = servers.rack_id AND msbs.name = 'msb-00'""")
        )
    told = client.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]
    assert (told["phase"], told["numbers"]["cost_units"]) == ("awaiting_approval", 9)
    assert "9 cost units are above the 8 that need no approval" in told["message"]


def test_a_large_request_waits_is_approved_and_goes_on(admin, client, operator, database: Database) -> None:
    set_limits(admin, size_cost_units=5)
    body = create(reason="new product")
    assert client.post("/v1/capacity-requests?dry_run=true", json=body).json()["status"]["reason"] == "NeedsApproval"
    request_id = client.post("/v1/capacity-requests", json=body).json()["capacity_request_id"]
    told = assess(database, request_id)
    assert (told.phase, told.reason) == ("awaiting_approval", "NeedsApproval")
    assert "8 cost units are above the 5" in told.message
    assert told.numbers["size_limit_cost_units"] == 5
    assert client.get("/v1/reservations?name=web").json()["items"] == []

    approval = waiting(client)
    assert (approval["capacity_request_id"], approval["asked_by"]) == (request_id, ["tester"])
    assert (approval["given_reason"], approval["before"]) == ("new product", None)
    assert approval["change"]["capacity_rru"] == 6
    assert [cause["reason"] for cause in approval["causes"]] == ["AboveSize"]
    assert decide(client, approval, "approve").status_code == 403
    assert decide(operator, approval | {"generation": 9}, "approve").json()["code"] == "stale_generation"
    assert decide(operator, approval, "approve", reason=" ").status_code == 422
    approved = decide(operator, approval, "approve", "capacity review of May")
    assert (approved.status_code, approved.json()["decided_by"]) == (200, "olga")
    assert decide(operator, approved.json(), "reject").json()["code"] == "wrong_phase"

    request = client.get(f"/v1/capacity-requests/{request_id}").json()["status"]
    assert (request["phase"], request["reason"]) == ("submitted", "Approved")
    assert "capacity review of May" in request["message"]
    assert assess(database, request_id).phase == "granted"
    with database.snapshot() as tx:
        trail = list_entries(tx, subject_kind="approval", subject_id=approval["approval_id"]).items
    assert [(e.actor, e.action, e.reason) for e in trail] == [("olga", "approve", "capacity review of May")]


def test_a_priority_above_the_middle_waits_and_a_lower_one_does_not(client, operator, database: Database) -> None:
    low = create("low", WEB | {"priority": 0})
    assert client.post("/v1/capacity-requests?dry_run=true", json=low).json()["status"]["phase"] == "granted"
    asked = client.post("/v1/capacity-requests", json=create("high", WEB | {"priority": 3}))
    high = asked.json()["capacity_request_id"]
    told = assess(database, high)
    assert (told.phase, told.reason) == ("awaiting_approval", "NeedsApproval")
    assert told.numbers["priority_limit"] == 2
    assert decide(operator, waiting(client), "approve").status_code == 200
    assert assess(database, high).phase == "granted"
    [made] = client.get("/v1/reservations?name=high").json()["items"]
    assert made["spec"]["priority"] == 3


def test_a_cost_of_moves_above_one_waits_and_a_lower_one_does_not(client, database: Database) -> None:
    low = create("low", WEB | {"move_cost": 0.5})
    assert client.post("/v1/capacity-requests?dry_run=true", json=low).json()["status"]["phase"] == "granted"
    asked = client.post("/v1/capacity-requests", json=create("high", WEB | {"move_cost": 2}))
    told = assess(database, asked.json()["capacity_request_id"])
    assert (told.phase, told.numbers["move_cost_limit"]) == ("awaiting_approval", 1)
    refused = client.post("/v1/capacity-requests", json=create("higher", WEB | {"move_cost": 11}))
    assert refused.status_code == 422
    assert "spec.move_cost" in refused.text


def test_hard_limits_are_kept_shown_and_refused_by_field(client, database: Database) -> None:
    limits = {"msb_share_max": 1.0, "datacenters": ["dc-00"]}
    request_id = client.post("/v1/capacity-requests", json=create("kept", WEB | limits)).json()["capacity_request_id"]
    assert assess(database, request_id).phase in ("granted", "degraded")
    [made] = client.get("/v1/reservations?name=kept").json()["items"]
    assert {name: made["spec"][name] for name in limits} == limits
    for field, value in (("msb_share_max", 0), ("msb_share_max", 1.5), ("datacenters", ["dc-99"])):
        refused = client.post("/v1/capacity-requests", json=create("other", WEB | {field: value}))
        assert refused.status_code == 422, refused.text
        assert f"spec.{field}" in refused.text
    never = create("never", WEB | {"msb_share_max": 0.01})
    told = client.post("/v1/capacity-requests?dry_run=true", json=never).json()["status"]
    assert (told["phase"], told["reason"]) == ("rejected", "BeyondHardLimits")
    assert "raise msb_share_max to" in told["message"].lower()


def test_a_rejection_gives_the_persons_reason(admin, client, operator, database: Database) -> None:
    set_limits(admin, size_cost_units=5)
    request_id = ask(client)
    assess(database, request_id)
    assert decide(operator, waiting(client), "reject", "use east").status_code == 200
    status = client.get(f"/v1/capacity-requests/{request_id}").json()["status"]
    assert (status["phase"], status["reason"]) == ("rejected", "ApprovalRejected")
    assert "olga" in status["message"]
    assert "use east" in status["message"]
    assert assess(database, request_id).phase == "rejected"


def test_an_approval_is_of_what_was_read(admin, client, operator, database: Database) -> None:
    set_limits(admin, size_cost_units=5)
    request_id = ask(client)
    url = f"/v1/capacity-requests/{request_id}"
    told = assess(database, request_id)
    first = waiting(client)
    body, match = {"spec": {"capacity_rru": 9}, "reason": "grew"}, {"If-Match": f'"{told.generation}"'}
    assert client.patch(url, json=body).status_code == 428
    amended = client.patch(url, json=body, headers=match)
    assert amended.status_code == 200, amended.text
    assert (amended.json()["spec"]["capacity_rru"], amended.json()["status"]["reason"]) == (9, "Amended")
    assert amended.json()["spec"]["rru"] == told.spec.rru
    assert client.patch(url, json=body, headers=match).json()["code"] == "stale_generation"
    assert decide(operator, first, "approve").status_code == 409
    old = f"/v1/approvals/{first['approval_id']}"
    assert (client.get(old).json()["status"], client.get(old).json()["superseded_by"]) == ("superseded", None)

    assert assess(database, request_id).phase == "awaiting_approval"
    second = waiting(client)
    assert (client.get(old).json()["superseded_by"], second["superseded_by"]) == (second["approval_id"], None)
    late = decide(operator, first | {"generation": 1}, "approve").json()
    assert late["detail"].endswith(f"Approval {second['approval_id']} took its place.")
    assert second["change"]["capacity_rru"] == 9
    assert decide(operator, second, "approve").status_code == 200
    # a new request also voids a granted approval
    generation = client.get(url).headers["etag"]
    assert client.patch(url, json={"spec": {"capacity_rru": 10}}, headers={"If-Match": generation}).status_code == 200
    assert assess(database, request_id).phase == "awaiting_approval"
    generation = client.get(url).headers["etag"]
    less = client.patch(url, json={"spec": {"capacity_rru": 3}}, headers={"If-Match": generation})
    assert less.status_code == 200
    assert assess(database, request_id).phase == "granted"
    late = client.patch(url, json=body, headers={"If-Match": client.get(url).headers["etag"]})
    assert (late.status_code, late.json()["code"]) == (409, "wrong_phase")
    with database.snapshot() as tx:
        trail = list_entries(tx, subject_kind="capacity_request", subject_id=request_id).items
    [first_amendment, *_] = [entry for entry in trail if entry.action == "amend"]
    assert first_amendment.reason == "grew"
    assert first_amendment.before["spec"]["capacity_rru"] == 6
    assert first_amendment.after["spec"]["capacity_rru"] == 9


def test_what_waits_can_be_withdrawn(admin, client, operator, database: Database) -> None:
    set_limits(admin, size_cost_units=5)
    request_id = ask(client)
    told = assess(database, request_id)
    approval, match = waiting(client), {"If-Match": f'"{told.generation}"'}
    gone = client.delete(f"/v1/capacity-requests/{request_id}?reason=not needed", headers=match)
    assert (gone.status_code, gone.json()["status"]["phase"]) == (200, "withdrawn")
    assert decide(operator, approval, "approve").json()["code"] == "wrong_phase"
    with database.snapshot() as tx:
        *_, last = list_entries(tx, subject_kind="capacity_request", subject_id=request_id).items
    assert (last.action, last.reason, last.before["phase"]) == ("withdraw", "not needed", "awaiting_approval")


def test_four_eyes(admin, operator, database: Database) -> None:
    set_limits(admin, size_cost_units=5, four_eyes=True)
    request_id = ask(admin)
    told = assess(database, request_id)
    url, match = f"/v1/capacity-requests/{request_id}", {"If-Match": f'"{told.generation}"'}
    assert decide(admin, waiting(admin), "approve").json()["code"] == "four_eyes"
    assert operator.patch(url, json={"spec": {"capacity_rru": 7}}, headers=match).json()["amended_by"] == ["olga"]
    assess(database, request_id)
    for client in (admin, operator):
        answer = decide(client, waiting(admin), "approve")
        assert (answer.status_code, answer.json()["asked_by"]) == (403, ["boss", "olga"])
    assert decide(operator, waiting(admin), "reject").status_code == 200


def test_a_share_of_a_hardware_type(admin, client, database: Database) -> None:
    """24 servers of hw-a: 12 are half of them; missing capacity counts like future servers."""
    set_limits(admin, hardware_share=0.5)
    spec = {"rru": {"hw-a": 1}, "survives_msb_loss": False}
    assert assess(database, ask(client, "half", **spec, capacity_rru=12)).phase == "granted"
    told = assess(database, ask(client, "more", **spec, capacity_rru=13))
    assert (told.phase, told.numbers["hardware_servers"]) == ("awaiting_approval", 13)
    assert "13 of 24 hw-a" in told.message
    [half] = client.get("/v1/reservations?name=half").json()["items"]
    url, match = f"/v1/reservations/{half['reservation_id']}", {"If-Match": '"1"'}
    smaller_rrus = {"spec": {"rru": {"hw-a": 0.5}}}  # the same capacity takes twice the servers
    dry = client.patch(url + "?dry_run=true", json=smaller_rrus, headers=match).json()["status"]
    assert dry["phase"] == "awaiting_approval"
    set_limits(admin, hardware_share=0.1)
    for change in ({"capacity_rru": 11}, {"msb_spread_limit": 0.9}):
        dry = client.patch(url + "?dry_run=true", json={"spec": change}, headers=match).json()["status"]
        assert dry["phase"] == "granted", "what does not grow waits for nobody"
    assert client.delete(url, headers=match).status_code == 200


def test_limits_are_an_admins(admin, operator) -> None:
    url = "/v1/regions/west/approval-limits"
    none = operator.get(url)
    assert none.json() == {
        "region": "west",
        "size_cost_units": None,
        "hardware_share": None,
        "four_eyes": False,
        "policy_prices": False,
        "generation": 0,
    }
    assert operator.put(url, json={}, headers={"If-Match": '"0"'}).status_code == 403
    assert admin.put(url, json={"hardware_share": 1.5}, headers={"If-Match": '"0"'}).status_code == 422
    assert admin.put(url, json={"size_cost_units": 3}, headers={"If-Match": '"0"'}).headers["etag"] == '"1"'
    assert admin.put(url, json={"size_cost_units": 4}, headers={"If-Match": '"0"'}).json()["found_generation"] == 1
    assert admin.get("/v1/regions/wets/approval-limits").status_code == 404
