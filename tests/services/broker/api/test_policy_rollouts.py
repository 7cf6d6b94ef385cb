"""Operators roll a policy out by requests: each stage with a reason, approved if it has an effect, and taken back."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.canary import first_share
from libs.domain.policy_rollout import ComparisonStatus, Finding
from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.fleet.policy_rollouts import load_rollout
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot, load_row_names
from libs.store.plans.policy_comparisons import finish_comparison, start_comparison
from libs.store.platform.database import Database
from libs.store.regions.rollout_stages import hold_rollout
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.portal.api import ROUTERS as PORTAL
from tests.builders.uploaded_region import pages
from tests.libs.web.conftest import bearer

Json = dict[str, Any]
PATH = "/v1/policy-rollouts"


@pytest.fixture
def app(database: Database) -> FastAPI:
    """The routes of the broker, and of the portal, where people approve."""
    return create_app(title="Broker", version="1", database=database, clock=SystemClock(), routers=(*BROKER, *PORTAL))


@pytest.fixture
def admin(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.ADMIN, "ada")) as client:
        yield client


def tagged(generation: int) -> dict[str, str]:
    return {"If-Match": f'"{generation}"'}


def start(client: TestClient, generation: int = 1, **policy: object) -> Json:
    body = {"region": "west", "policy": policy or {"buffer_cost": 8}, "reason": "buffers grew"}
    answer = client.post(PATH, json=body, headers=tagged(generation))
    assert answer.status_code == 201, answer.json()
    found: Json = client.get(answer.headers["Location"]).json()
    assert found == answer.json()
    return found


def send(client: TestClient, rollout: Json, verb: str, **body: object) -> Any:
    path = f"{PATH}/{rollout['policy_rollout_id']}/{verb}"
    return client.post(path, json={"reason": "test", **body}, headers=tagged(rollout["generation"]))


def now_of(client: TestClient, rollout: Json) -> Json:
    found: Json = client.get(f"{PATH}/{rollout['policy_rollout_id']}").json()
    return found


def decide(client: TestClient, asked: Any, verb: str = "approve") -> Any:
    assert asked.status_code == 202, asked.json()
    path = f"/v1/approvals/{asked.json()['approval_id']}/{verb}"
    return client.post(path, json={"reason": "test"}, headers=tagged(asked.json()["generation"]))


@pytest.fixture
def compared(database: Database) -> Callable[[Json], None]:
    """Return a function that stores three comparisons in the present stage, as shadow solves do."""

    def store(rollout: Json) -> None:
        with database.write() as tx:
            found = load_rollout(tx, rollout["policy_rollout_id"])
            last = tx.execute(sa.text("SELECT coalesce(max(solve_run_id), 0) FROM policy_comparisons")).scalar_one()
            for k in range(3):
                now = SystemClock().now()
                new_id = start_comparison(tx, found, last + k + 1, now=now)
                assert finish_comparison(tx, new_id, ComparisonStatus.DONE, now=now, report={})

    return store


def test_a_second_roll_out_of_a_region_is_told_how_to_end_the_first(admin: TestClient, imported: None) -> None:
    start(admin)
    body = {"region": "west", "policy": {"buffer_cost": 9}, "reason": "again"}
    again = admin.post(PATH, json=body, headers=tagged(1)).json()
    assert again["code"] == "duplicate_name", again
    assert again["detail"].endswith("advance it, or take it back first with `plimsoll rollout back west`.")


def test_a_policy_goes_through_its_stages_and_back(
    operator: TestClient, imported: None, database: Database, compared: Callable[[Json], None]
) -> None:
    rollout = start(operator, buffer_cost=8, shortfall_cost=2000)
    assert (rollout["stage"], rollout["change"], rollout["before"]) == (
        "shadow",
        {"buffer_cost": 8.0, "shortfall_cost": 2000.0},
        {"buffer_cost": 5.0, "shortfall_cost": 1000.0},
    )
    assert (rollout["only_at_all"], rollout["compared"], rollout["held"]) == (["shortfall_cost"], 0, [])
    early = send(operator, rollout, "advance", share=0.5)
    assert (early.status_code, early.json()["code"]) == (409, "wrong_phase")
    assert early.json()["detail"] == rollout["refusals"]["canary"]
    assert "needs 3" in rollout["refusals"]["canary"]
    resumed = send(operator, rollout, "resume")
    assert (resumed.status_code, resumed.json()["detail"]) == (409, rollout["refusals"]["resume"])
    assert rollout["refusals"]["back"] is None
    compared(rollout)
    assert "name its share" in send(operator, rollout, "advance").json()["detail"]
    asked = send(operator, rollout, "advance", share=0.5)
    assert asked.json()["kind"] == "region_policy"
    assert operator.get("/v1/regions/west").json()["policy"]["buffer_cost"] == 5.0
    assert decide(operator, asked).status_code == 200
    canary = now_of(operator, rollout)
    assert (canary["stage"], canary["share"], canary["compared"]) == ("canary", 0.5, 0)
    with database.snapshot() as tx:
        found = load_fleet_snapshot(tx, "west").canary
    assert found is not None
    assert (found.share, found.policy.buffer_cost) == (0.5, 8.0)
    assert operator.get("/v1/regions/west").json()["policy"]["buffer_cost"] == 5.0
    compared(canary)
    assert "larger share" in send(operator, canary, "advance", share=0.4).json()["detail"]
    assert decide(operator, send(operator, canary, "advance")).status_code == 200
    whole = now_of(operator, rollout)
    policy = operator.get("/v1/regions/west").json()["policy"]
    assert (whole["stage"], policy["buffer_cost"], policy["shortfall_cost"]) == ("all", 8.0, 2000.0)
    back = send(operator, whole, "back")
    assert (back.status_code, back.json()["stage"]) == (200, "back")
    policy = operator.get("/v1/regions/west").json()["policy"]
    assert (policy["buffer_cost"], policy["shortfall_cost"]) == (5.0, 1000.0)
    told = [one for one in pages(operator, "/v1/audit-entries") if one["subject_kind"] == "policy_rollout"]
    assert sorted(one["action"] for one in told) == ["all", "back", "canary", "start"]
    assert {one["reason"] for one in told} == {"buffers grew", "test"}
    assert len(operator.get(f"{PATH}/{rollout['policy_rollout_id']}/comparisons").json()["items"]) == 6
    assert operator.get(f"{PATH}?region=west").json()["items"] == [back.json()]


def test_a_held_roll_out_advances_by_no_way(
    operator: TestClient, imported: None, database: Database, compared: Callable[[Json], None]
) -> None:
    rollout = start(operator)
    compared(rollout)
    asked = send(operator, rollout, "advance", share=0.1)
    with database.write() as tx:
        region_id, now = load_region(tx, "west").region_id, SystemClock().now()
        finding = Finding(reason="OutsideHistory", message="too slow", numbers={"solve_s": 9.0})
        hold_rollout(tx, region_id, load_rollout(tx, rollout["policy_rollout_id"], lock=True), [finding], now)
    late = decide(operator, asked)
    assert (late.status_code, late.json()["code"]) == (409, "wrong_phase")
    assert "is held" in late.json()["detail"]
    held = now_of(operator, rollout)
    assert [one["reason"] for one in held["held"]] == ["OutsideHistory"]
    assert "too slow" in send(operator, held, "advance", share=0.1).json()["detail"]
    [condition] = [
        one for one in operator.get("/v1/regions/west").json()["conditions"] if one["type"] == "PolicyRollout"
    ]
    assert (condition["status"], condition["reason"]) == ("False", "OutsideHistory")
    assert send(operator, rollout, "resume").json()["code"] == "stale_generation"
    assert send(operator, held, "resume").status_code == 200
    again = now_of(operator, rollout)
    assert send(operator, again, "resume").status_code == 409
    assert decide(operator, send(operator, again, "advance", share=0.1)).status_code == 200


def test_a_region_has_one_open_roll_out_and_another_change_ends_it(operator: TestClient, imported: None) -> None:
    rollout = start(operator)
    body = {"region": "west", "policy": {"spread_cost": 3}, "reason": "test"}
    assert operator.post(PATH, json=body, headers=tagged(1)).status_code == 409
    operator.patch("/v1/regions/west", json={"policy": {"spread_cost": 3}}, headers=tagged(1))
    over = now_of(operator, rollout)
    assert over["stage"] == "superseded"
    assert send(operator, over, "back").json()["code"] == "wrong_phase"
    assert send(operator, over, "advance", share=0.1).json()["code"] == "wrong_phase"
    again = start(operator, generation=2)
    shares = {"policy": {"shared_buffer_share": 0.1}, "reason": "more failures"}
    asked = operator.patch("/v1/regions/west", json=shares, headers=tagged(2))
    told = [one["message"] for one in asked.json()["causes"] if one["reason"] == "EndsRollout"]
    assert told == [f"it would end roll-out {again['policy_rollout_id']}, which is in the stage shadow"]
    send(operator, again, "back")
    asked = operator.patch("/v1/regions/west", json=shares, headers=tagged(2))
    assert [one["reason"] for one in asked.json()["causes"]] == ["SharedBufferSize"]


def test_what_cannot_be_rolled_out_is_refused(operator: TestClient, viewer: TestClient, imported: None) -> None:
    def post(policy: Json, client: TestClient = operator, generation: int = 1) -> Any:
        body = {"region": "west", "policy": policy, "reason": "test"}
        return client.post(PATH, json=body, headers=tagged(generation))

    assert post({"shared_buffer_share": 0.1}).json()["errors"][0]["field"] == "policy.shared_buffer_share"
    assert post({"buffer_cost": 5}).json()["errors"][0]["code"] == "no_change"
    assert post({"buffer_cost": -1}).status_code == 422
    assert post({"buffer_cost": 8}, generation=7).json()["code"] == "stale_generation"
    assert post({"buffer_cost": 8}, viewer).status_code == 403
    assert operator.get(f"{PATH}?region=east").status_code == 404
    rollout = start(operator, shortfall_cost=2000)
    assert "a canary shows nothing" in send(operator, rollout, "advance", share=0.1).json()["detail"]
    assert send(operator, rollout, "advance", share=1).status_code == 422
    assert send(viewer, rollout, "back").status_code == 403
    assert send(operator, rollout, "back").json()["stage"] == "back"


def test_a_way_back_does_not_undo_what_others_changed_since(
    operator: TestClient, imported: None, compared: Callable[[Json], None]
) -> None:
    rollout = start(operator, shortfall_cost=2000)
    compared(rollout)
    assert decide(operator, send(operator, rollout, "advance")).status_code == 200
    generation = operator.get("/v1/regions/west").json()["generation"]
    operator.patch("/v1/regions/west", json={"policy": {"shortfall_cost": 3000}}, headers=tagged(generation))
    late = send(operator, now_of(operator, rollout), "back")
    assert (late.status_code, late.json()["code"]) == (409, "wrong_phase")
    assert operator.get("/v1/regions/west").json()["policy"]["shortfall_cost"] == 3000.0


def test_every_price_waits_where_the_limits_say_so(operator: TestClient, admin: TestClient, imported: None) -> None:
    limits = {"policy_prices": True, "four_eyes": True}
    assert admin.put("/v1/regions/west/approval-limits", json=limits, headers=tagged(0)).status_code == 200
    asked = operator.patch("/v1/regions/west", json={"policy": {"buffer_cost": 8}}, headers=tagged(1))
    assert asked.status_code == 202
    assert [one["reason"] for one in asked.json()["causes"]] == ["PolicyPrice"]
    assert operator.get("/v1/regions/west").json()["policy"]["buffer_cost"] == 5.0
    assert decide(operator, asked).json()["code"] == "four_eyes"
    assert decide(admin, asked).status_code == 200
    assert operator.get("/v1/regions/west").json()["policy"]["buffer_cost"] == 8.0


def test_a_canary_that_lost_its_reservations_does_not_lead_to_all(
    operator: TestClient, imported: None, database: Database, compared: Callable[[Json], None]
) -> None:
    rollout = start(operator)
    compared(rollout)
    salt = str(rollout["policy_rollout_id"])
    with database.snapshot() as tx:
        [name] = load_row_names(tx, load_region(tx, "west").region_id)
    first = first_share([name], salt=salt)
    empty = send(operator, rollout, "advance", share=first / 2)
    assert (empty.status_code, empty.json()["code"]) == (409, "wrong_phase")
    assert "does not have the only reservation of west, so it shows nothing" in empty.json()["detail"]
    asked = send(operator, rollout, "advance", share=first + 1e-6)
    assert "1 of 1 now" in asked.json()["causes"][0]["message"]
    assert decide(operator, asked).status_code == 200
    canary = now_of(operator, rollout)
    compared(canary)
    assert now_of(operator, rollout)["refusals"]["all"] is None
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET deleted_at = now()"))
    late = send(operator, canary, "advance")
    assert (late.status_code, late.json()["detail"]) == (409, now_of(operator, rollout)["refusals"]["all"])
    assert "west has no reservation, so a canary shows nothing" in late.json()["detail"]


def test_a_way_back_ends_only_what_the_roll_out_asked_for(
    operator: TestClient, admin: TestClient, imported: None, compared: Callable[[Json], None]
) -> None:
    rollout = start(operator)
    compared(rollout)
    stage = send(operator, rollout, "advance", share=0.5)
    assert send(operator, rollout, "back").json()["stage"] == "back"
    assert operator.get(f"/v1/approvals/{stage.json()['approval_id']}").json()["status"] == "superseded"
    shares = {"policy": {"shared_buffer_share": 0.1}, "reason": "more failures"}
    asked = operator.patch("/v1/regions/west", json=shares, headers=tagged(1))
    assert asked.status_code == 202, asked.json()
    assert send(operator, start(operator), "back").json()["stage"] == "back"
    path = f"/v1/approvals/{asked.json()['approval_id']}"
    waits = operator.get(path)
    assert waits.json()["status"] == "pending"
    decided = admin.post(f"{path}/approve", json={"reason": "read"}, headers={"If-Match": waits.headers["ETag"]})
    assert decided.status_code == 200


def test_a_change_that_waits_names_the_roll_out_that_begins_meanwhile(
    operator: TestClient, admin: TestClient, imported: None, compared: Callable[[Json], None]
) -> None:
    shares = {"policy": {"shared_buffer_share": 0.1}, "reason": "more failures"}
    asked = operator.patch("/v1/regions/west", json=shares, headers=tagged(1))
    path = f"/v1/approvals/{asked.json()['approval_id']}"

    def told() -> list[str]:
        return [one["message"] for one in admin.get(path).json()["causes"] if one["reason"] == "EndsRollout"]

    assert told() == []
    rollout = start(operator)
    ends = f"it would end roll-out {rollout['policy_rollout_id']}, which is in the stage"
    assert told() == [f"{ends} shadow"]
    unread = decide(admin, asked)
    assert (unread.status_code, unread.json()["code"]) == (409, "stale_generation"), "it was read without this"
    send(operator, rollout, "back")
    assert told() == []
    rollout = start(operator)
    compared(rollout)
    stage = send(operator, rollout, "advance", share=0.9999)
    assert "EndsRollout" not in {one["reason"] for one in stage.json()["causes"]}
    assert admin.get(path).json()["status"] == "superseded"
    again = operator.patch("/v1/regions/west", json=shares, headers=tagged(1))
    path = f"/v1/approvals/{again.json()['approval_id']}"
    read = admin.get(path)
    assert told() == [f"it would end roll-out {rollout['policy_rollout_id']}, which is in the stage shadow"]
    ended = admin.post(f"{path}/approve", json={"reason": "read"}, headers={"If-Match": read.headers["ETag"]})
    assert ended.status_code == 200, ended.json()
    assert now_of(operator, rollout)["stage"] == "superseded"
