"""Overrides are bounds with a reason. The next plan keeps them, and they cannot contradict each other."""

import pytest

from libs.store.platform.audit import list_entries
from tests.builders.planning_inputs import put, put_world

PRESENCE = {"kind": "presence", "subject": "feed", "region": "north", "reason": "network"}
CAPACITY = {"kind": "capacity", "subject": "store", "region": "west", "reason": "a promise"}


@pytest.fixture
def there(client, world):
    put_world(client, world)


def post(client, body, **query):
    return client.post("/v1/plan-overrides", json=body, params=query)


@pytest.mark.usefixtures("there")
def test_the_next_plan_keeps_to_them_and_says_why(client, planner, ask):
    ask()
    planner().reconcile()
    free = latest_plan(client)["steps"][0]
    assert free["traffic"]["feed"]["north"] > 0.3
    post(client, PRESENCE | {"most": 0.2})
    least = free["capacity"]["store"]["west"] + 0.1
    made = post(client, CAPACITY | {"least": least})
    assert made.headers["location"] == "/v1/plan-overrides/2"
    ask()
    planner().reconcile()
    plan = latest_plan(client)
    assert plan["steps"][0]["traffic"]["feed"]["north"] <= 0.2 + 1e-9
    assert plan["steps"][0]["capacity"]["store"]["west"] >= least - 1e-9
    changes = client.get(f"/v1/placement-plans/{plan['placement_plan_id']}/changes").json()["changes"]
    [why] = [one["limit"] for one in changes if (one["service"], one["region"]) == ("store", "west")]
    assert why == "override 2 (a promise, tester)"
    assert [one["plan_override_id"] for one in plan["overrides"]] == [1, 2]
    withdrawn = client.post("/v1/plan-overrides/1/withdraw", headers={"If-Match": '"1"'}).json()
    assert (withdrawn["in_force"], withdrawn["withdrawn_by"]) == (False, "tester")
    ask()
    planner().reconcile()
    assert latest_plan(client)["steps"][0]["traffic"]["feed"]["north"] > 0.3


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("expires_at", ["9999-12-31T23:59:59-23:59", "2300-01-01T00:00:00Z"])
def test_an_end_that_no_clock_reaches_is_refused(client, expires_at):
    answer = post(client, PRESENCE | {"most": 0.6, "expires_at": expires_at})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "expires_at"
    assert client.get("/v1/plan-overrides").json()["items"] == []


@pytest.mark.usefixtures("there")
def test_they_are_listed_and_audited(client, database):
    first = post(client, PRESENCE | {"most": 0.6}).json()
    post(client, CAPACITY | {"most": 4.0, "expires_at": "2100-01-01T00:00:00+02:00"})
    stale = client.post("/v1/plan-overrides/1/withdraw", headers={"If-Match": '"7"'})
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_generation")
    given = {"headers": {"If-Match": f'"{first["generation"]}"'}, "params": {"reason": "mended"}}
    assert client.post("/v1/plan-overrides/1/withdraw", **given).status_code == 200
    again = client.post("/v1/plan-overrides/1/withdraw", headers={"If-Match": '"2"'})
    assert again.json()["code"] == "wrong_phase"
    everything = client.get("/v1/plan-overrides").json()["items"]
    assert [one["plan_override_id"] for one in everything] == [2, 1]
    for in_force, ids in ((True, [2]), (False, [1])):
        listed = client.get("/v1/plan-overrides", params={"in_force": in_force}).json()["items"]
        assert [one["plan_override_id"] for one in listed] == ids
    with database.snapshot() as tx:
        entries = list_entries(tx, subject_kind="plan_override").items
    assert [(one.action, one.subject_id, one.reason) for one in entries] == [
        ("create", 1, "network"),
        ("create", 2, "a promise"),
        ("withdraw", 1, "mended"),
    ]


@pytest.mark.usefixtures("there")
def test_a_contradiction_is_refused_with_both_names(client):
    post(client, CAPACITY | {"most": 2.0, "reason": "a smaller hall"})
    refused = post(client, CAPACITY | {"least": 3.0})
    assert (refused.status_code, refused.json()["code"]) == (409, "contradiction")
    [said] = refused.json()["contradictions"]
    assert "the new override (a promise, tester) asks for at least 3" in said
    assert "override 1 (a smaller hall, tester) allows at most 2" in said
    assert len(client.get("/v1/plan-overrides").json()["items"]) == 1, "it was not kept"
    client.post("/v1/plan-overrides/1/withdraw", headers={"If-Match": '"1"'})
    assert post(client, CAPACITY | {"least": 3.0}).status_code == 201


@pytest.mark.usefixtures("there")
def test_inputs_are_contradicted_neither(client):
    row = {"service": "store", "region": "west", "hardware_type": "compute", "capacity_max": 2.0}
    put(client, "controls", [row])
    refused = post(client, CAPACITY | {"least": 3.0})
    assert "controls allows at most 2" in refused.json()["contradictions"][0]
    assert post(client, CAPACITY | {"least": 1.5}).status_code == 201
    warned = put(client, "controls", [row | {"capacity_max": 1.0}])
    assert warned.status_code == 200, "an input is not held up by an override"
    assert "override" in warned.json()["warnings"][0]


@pytest.mark.usefixtures("there")
def test_shares_must_be_able_to_sum_to_all(client):
    for region in ("east", "west"):
        assert post(client, PRESENCE | {"region": region, "most": 0.25}).status_code == 201
    refused = post(client, PRESENCE | {"region": "north", "most": 0.25})
    assert "sum to 0.75" in refused.json()["contradictions"][0]
    refused = post(client, PRESENCE | {"region": "north", "subject": "shop", "least": 1.0})
    assert refused.status_code == 201
    refused = post(client, PRESENCE | {"region": "east", "subject": "shop", "least": 0.1})
    assert "sum to 1.1" in refused.json()["contradictions"][0]


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (CAPACITY | {"subject": "stroe", "least": 1.0}, "subject"),
        (PRESENCE | {"subject": "store", "least": 0.1}, "subject"),
        (CAPACITY | {"region": "mars", "least": 1.0}, "region"),
        (CAPACITY | {"hardware_type": "flash", "least": 1.0}, "hardware_type"),
        (CAPACITY | {"least": 1.0, "expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        (CAPACITY, ""),
        (CAPACITY | {"least": 2.0, "most": 1.0}, ""),
        (PRESENCE | {"least": 2.0}, ""),
        ({name: value for name, value in CAPACITY.items() if name != "reason"} | {"least": 1.0}, "reason"),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(client, body, field):
    refused = post(client, body)
    assert refused.status_code == 422
    assert field in [one["field"] for one in refused.json()["errors"]] or not field
    assert client.get("/v1/plan-overrides").json()["items"] == []


@pytest.mark.usefixtures("there")
def test_a_dry_run_checks_and_keeps_nothing(client):
    assert post(client, CAPACITY | {"least": 1.0}, dry_run=True).status_code == 200
    assert client.get("/v1/plan-overrides").json()["items"] == []
    assert post(client, CAPACITY | {"region": "mars", "least": 1.0}, dry_run=True).status_code == 422


def test_without_inputs_there_is_nothing_to_override(client):
    refused = post(client, CAPACITY | {"least": 1.0})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


def latest_plan(client):
    [first, *_] = client.get("/v1/placement-plans").json()["items"]
    return client.get(f"/v1/placement-plans/{first['placement_plan_id']}").json()
