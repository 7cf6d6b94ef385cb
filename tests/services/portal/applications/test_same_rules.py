"""Applying a simulation obeys the rules of the same request."""

from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient

from libs.domain.approval import ApprovalLimits
from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.capacity.approval_limits import set_approval_limits
from libs.store.capacity.approvals import list_approvals
from libs.store.capacity.capacity_requests import load_capacity_request
from libs.store.capacity.quotas import set_quota
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from tests.libs.web.conftest import bearer

ANSWERS = {
    "granted": "applied",
    "degraded": "applied",
    "rejected": "quota_exceeded",
    "awaiting_approval": "needs_approval",
}
"""Phase of a judged request -> the answer to applying the same."""


def rule(database: Database, *, quota_cost_units: float | None = None, **limits: object) -> None:
    """Set quota and limits of `team`, which has 9 RRU: 3 of fat, which holds 12 servers, and 6 of thin."""
    with database.write() as tx:
        set_quota(tx, "west", "team", quota_cost_units, generation=0)
        set_approval_limits(tx, load_region(tx, "west").region_id, ApprovalLimits(**limits))  # type: ignore[arg-type]


def resize(client: TestClient, name: str, capacity_rru: float, **params: str) -> dict:
    body = {"kind": "resize", "region": "west", "reservation": name, "spec": {"capacity_rru": capacity_rru}}
    answer = client.post("/v1/capacity-requests", json=body, params=params)
    assert answer.status_code in (200, 201), answer.json()
    return answer.json()


def applied(client: TestClient, simulated: dict, **more: dict) -> str:
    answer = client.post(f"/v1/simulations/{simulated['simulation_id']}/apply", **more)
    return "applied" if answer.status_code == 200 else answer.json()["code"]


@pytest.mark.parametrize(
    ("capacity_rru", "pending", "rules", "becomes"),
    [
        (7.0, {}, {"quota_cost_units": 22}, "degraded"),  # 12 that fat holds, and 10 for 7 RRU over 4 MSBs
        (7.0, {}, {"quota_cost_units": 21.999999}, "rejected"),
        (7.01, {}, {"quota_cost_units": 22}, "rejected"),  # one server more
        (7.0, {"thin": 8}, {"quota_cost_units": 22}, "degraded"),  # another request for the same takes nothing
        (7.0, {"fat": 10}, {"quota_cost_units": 22}, "rejected"),
        (5.0, {}, {"quota_cost_units": 1}, "degraded"),  # over the quota already, and it asks for less
        (7.0, {}, {"size_cost_units": 10}, "degraded"),
        (7.01, {}, {"size_cost_units": 10}, "awaiting_approval"),
        (7.0, {}, {"hardware_share": 0.1}, "awaiting_approval"),
        (5.0, {}, {"hardware_share": 0.1, "size_cost_units": 1}, "degraded"),  # it asks for no more than it has
        (7.0, {}, {"quota_cost_units": 21, "size_cost_units": 6}, "rejected"),  # the quota comes first
    ],
)
def test_it_is_answered_as_the_request_would_be(
    simulate: Callable[..., dict],
    client: TestClient,
    database: Database,
    capacity_rru: float,
    pending: dict[str, float],
    rules: dict,
    becomes: str,
) -> None:
    rule(database, **rules)
    for name, asked_rru in pending.items():
        assert resize(client, name, asked_rru)["status"]["phase"] == "submitted"
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": capacity_rru}])
    judged = resize(client, "thin", capacity_rru, dry_run="true")["status"]["phase"]
    assert judged == becomes
    assert applied(client, found) == ANSWERS[becomes]


@pytest.mark.parametrize("four_eyes", [False, True])
def test_a_second_person_is_needed_where_a_request_needs_one(
    simulate: Callable[..., dict], client: TestClient, database: Database, four_eyes: bool
) -> None:
    rule(database, size_cost_units=6, four_eyes=four_eyes)
    reason = {"reason": "agreed"}
    found = simulate(demand=[{"reservation": "thin", "capacity_rru": 7}])
    request = resize(client, "thin", 7)
    AssessCapacityRequest(database, SystemClock(), request["capacity_request_id"]).reconcile()
    with database.snapshot() as tx:
        [approval] = list_approvals(tx).items

    def approved(**more: dict) -> int:
        path, at = f"/v1/approvals/{approval.approval_id}/approve", {"If-Match": f'"{approval.generation}"'}
        return client.post(path, json=reason, headers=at | more.get("headers", {})).status_code

    other = bearer(database, Role.OPERATOR, "otto")
    if four_eyes:  # olga asked for both
        assert (approved(), applied(client, found, params=reason)) == (403, "four_eyes")
        assert (applied(client, found, params=reason, headers=other), approved(headers=other)) == ("applied", 200)
    else:
        assert (applied(client, found, params=reason), approved()) == ("applied", 200)
    with database.snapshot() as tx:
        assert load_capacity_request(tx, request["capacity_request_id"]).phase == "submitted"
