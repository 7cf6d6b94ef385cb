"""Follow a change of the shared buffers' size from the broker to the approver in the portal."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.portal.api import ROUTERS as PORTAL
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import database  # noqa: F401 - a fixture


@pytest.fixture
def app(database: Database) -> FastAPI:  # noqa: F811
    routers = [*PORTAL, *BROKER]
    return create_app(title="Plimsoll", version="1", database=database, clock=SystemClock(), routers=routers)


@pytest.fixture
def operator(app: FastAPI, database: Database) -> Iterator[TestClient]:  # noqa: F811
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


def patch(client: TestClient, **policy: float):
    match = {"If-Match": client.get("/v1/regions/west").headers["etag"]}
    return client.patch("/v1/regions/west", json={"policy": policy, "reason": "winter"}, headers=match)


def decide(client: TestClient, approval: dict[str, object], what: str):
    url, match = f"/v1/approvals/{approval['approval_id']}/{what}", {"If-Match": f'"{approval["generation"]}"'}
    return client.post(url, json={"reason": "seen"}, headers=match)


def policy_of(client: TestClient) -> dict[str, float]:
    return client.get("/v1/regions/west").json()["policy"]


def test_it_waits_with_all_that_was_asked_beside_it(operator: TestClient) -> None:
    before = policy_of(operator)
    asked = patch(operator, shared_buffer_share=0.05, buffer_cost=3)
    assert (asked.status_code, asked.headers["location"]) == (202, f"/v1/approvals/{asked.json()['approval_id']}")
    approval = operator.get(asked.headers["location"]).json()
    assert approval == asked.json()
    assert approval["change"] == {"shared_buffer_share": 0.05, "buffer_cost": 3}
    assert approval["before"] == {"shared_buffer_share": 0, "buffer_cost": before["buffer_cost"]}
    assert (approval["causes"][0]["reason"], approval["given_reason"]) == ("SharedBufferSize", "winter")
    assert policy_of(operator) == before
    assert decide(operator, approval, "approve").status_code == 200
    assert policy_of(operator) == before | {"shared_buffer_share": 0.05, "buffer_cost": 3}
    trail = operator.get("/v1/audit-entries?subject_kind=region").json()["items"]
    changes = [(e["action"], e["reason"]) for e in trail if e["action"] != "import"]
    assert changes == [("ask_for_policy", "winter"), ("update_policy", "seen")]


def test_a_rejected_one_changes_nothing(operator: TestClient) -> None:
    before = policy_of(operator)
    assert decide(operator, patch(operator, shared_buffer_share=0.05).json(), "reject").status_code == 200
    assert policy_of(operator) == before


def test_what_was_read_is_what_is_approved(operator: TestClient) -> None:
    first = patch(operator, shared_buffer_share=0.05).json()
    second = patch(operator, shared_buffer_share=0.06).json()
    assert decide(operator, first, "approve").json()["code"] == "wrong_phase"
    assert patch(operator, buffer_cost=7).status_code == 200
    assert decide(operator, second, "approve").json()["code"] == "wrong_phase"
    assert operator.get(f"/v1/approvals/{second['approval_id']}").json()["decision_reason"] == "PolicyChanged"
    assert policy_of(operator)["shared_buffer_share"] == 0
    match = {"If-Match": '"1"'}
    stale = operator.patch("/v1/regions/west", json={"policy": {"shared_buffer_share": 0.1}}, headers=match)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_generation")


def test_saying_the_same_size_again_waits_for_nobody(operator: TestClient) -> None:
    assert patch(operator, shared_buffer_share=0, buffer_cost=7).status_code == 200
