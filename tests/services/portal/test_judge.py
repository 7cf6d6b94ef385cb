"""A dry run gives the verdict and numbers of the real request on the same snapshot, for any decider."""

from datetime import timedelta

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libs.domain.approval import ApprovalLimits
from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.capacity.approval_limits import load_approval_limits, set_approval_limits
from libs.store.capacity.quotas import load_quota, set_quota
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import create

SPECS = st.fixed_dictionaries(
    {
        "capacity_rru": st.sampled_from([0.5, 3, 6, 14, 25, 40, 60, 4000]),
        "rru": st.sampled_from([{"hw-a": 1}, {"hw-a": 1, "hw-b": 2}, {"hw-b": 0.25}]),
        "survives_msb_loss": st.booleans(),
    },
    optional={
        "affinity": st.sampled_from([{"dc-00": 0.5, "dc-01": 0.5}, {"dc-00": 1.4}]),
        "starts_at": st.sampled_from([timedelta(hours=-1), timedelta(days=2)]),
        "msb_spread_limit": st.just(0.3),
    },
)
LIMITS = st.builds(
    ApprovalLimits,
    size_cost_units=st.sampled_from([None, 5, 30]),
    hardware_share=st.sampled_from([None, 0.1, 0.6]),
)
ACTIONS = st.tuples(SPECS, st.sampled_from(["create", "resize"]), LIMITS, st.sampled_from([None, 2, 20, 60]))


@pytest.fixture
def operator(app: FastAPI, database: Database):
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(actions=st.lists(ACTIONS, min_size=1, max_size=4))
def test_a_dry_run_says_what_the_request_becomes(operator: TestClient, database: Database, actions) -> None:
    """On a region that fills from example to example."""
    for spec, kind, limits, quota_cost_units in actions:
        set_rules(database, limits, quota_cost_units)
        name = f"r{len(operator.get('/v1/capacity-requests?limit=1000').json()['items'])}"
        if "starts_at" in spec:
            spec = spec | {"starts_at": (SystemClock().now() + spec["starts_at"]).isoformat()}
        body = create(name, spec)
        if kind == "resize":
            spec.pop("starts_at", None)
            body = {"kind": "resize", "region": "west", "reservation": "old", "spec": spec}
        would = operator.post("/v1/capacity-requests?dry_run=true", json=body)
        sent = operator.post("/v1/capacity-requests", json=body)
        assert (would.status_code, sent.status_code) == (200, 201), (would.text, sent.text)
        became = AssessCapacityRequest(database, SystemClock(), sent.json()["capacity_request_id"]).reconcile()
        said = would.json()["status"]
        assert said["phase"] == became.phase
        assert said["reason"] == became.reason
        assert said["message"] == became.message
        assert said["numbers"] == became.numbers


@pytest.mark.parametrize("days", [2, 60])
def test_a_start_that_needs_approval_is_said_to_be_scheduled(
    operator: TestClient, database: Database, days: int
) -> None:
    """An approval of a later start books servers or none yet. It brings none, as the mover would for a grant."""
    starts_at = (SystemClock().now() + timedelta(days=days)).isoformat()
    body = create("late", {"capacity_rru": 3, "rru": {"hw-a": 1}, "survives_msb_loss": True, "starts_at": starts_at})
    path = "/v1/capacity-requests?dry_run=true"
    free = operator.post(path, json=body).json()["status"]
    set_rules(database, ApprovalLimits(size_cost_units=1), None)
    waits = operator.post(path, json=body).json()["status"]
    assert (free["phase"], waits["phase"]) == ("scheduled", "awaiting_approval")
    assert waits["message"].partition("Approved now, it would be ")[2] == f"scheduled: {free['message']}"


def set_rules(database: Database, limits: ApprovalLimits, quota_cost_units: float | None) -> None:
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        before = load_approval_limits(tx, region_id)
        rules = {"size_cost_units": limits.size_cost_units, "hardware_share": limits.hardware_share}
        set_approval_limits(tx, region_id, ApprovalLimits(**rules, generation=before.generation))
        set_quota(tx, "west", "team", quota_cost_units, generation=load_quota(tx, "west", "team").generation)
