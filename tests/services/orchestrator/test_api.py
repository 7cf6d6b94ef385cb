"""Test the routes of executions."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.audit import list_entries
from libs.web.app import create_app
from services.orchestrator.api import ROUTERS
from tests.builders.executed_plan import Orchestrator, store_plan
from tests.builders.execution import two_products
from tests.libs.web.conftest import bearer

FRONT = "upsize/shop-front/west/compute"
GATE = {"name": "errors", "time": "fraction", "query": "e", "most": 0.01, "mode": "reverse"}


@pytest.fixture
def client(orchestrator: Orchestrator):
    app = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.OPERATOR)) as client:
        yield client


def create(client, orchestrator, **terms):
    body = {"placement_plan_id": orchestrator.plan_id, "reason": "weekly", "terms": terms}
    return client.post("/v1/plan-executions", json=body)


def generation_of(client, made, **about):
    return client.get(f"/v1/plan-executions/{made['plan_execution_id']}/command-answers", params=about).json()[
        "generation"
    ]


def command(client, made, verb, generation=None, **more):
    path = f"/v1/plan-executions/{made['plan_execution_id']}/commands"
    match = {} if generation is None else {"If-Match": f'"{generation}"'}
    return client.post(path, json={"verb": verb, "reason": "because", **more}, headers=match)


def actions(client, made, **query):
    found = client.get(f"/v1/plan-executions/{made['plan_execution_id']}/actions", params=query).json()
    return {one["action"]: one for one in found["items"]}


def test_from_a_plan_to_its_end(client, orchestrator):
    made = create(client, orchestrator, gates=[GATE]).json()
    assert (made["state"], made["possible"]) == ("draft", ["start", "abort", "supersede"])
    assert command(client, made, "start").json()["state"] == "running"
    path = f"/v1/plan-executions/{made['plan_execution_id']}"
    orchestrator.tick()
    figures = client.get(path).json()["figures"]
    assert figures["upsize"] == figures["upsized"] > 0
    assert (figures["downsized"], figures["shifted"]) == (0, 0)
    shown = client.get(path).json()["actions"]
    assert shown["upsize"] == {"done": len(actions(client, made, phase="upsize"))}
    orchestrator.run(made["plan_execution_id"])
    assert client.get(path).json()["state"] == "done"
    assert client.get("/v1/plan-executions", params={"state": "done"}).json()["items"][0] == {
        name: value for name, value in client.get(path).json().items() if name not in ("actions", "figures")
    }
    shift = actions(client, made, phase="shift")["shift/shop/east/west"]
    readings = client.get(f"{path}/actions/{shift['position']}/readings").json()
    assert readings[0] | {"at": None} == {
        "gate": "errors",
        "at": None,
        "value": 0.0,
        "query": "e",
        "bound": "<= 0.01",
        "note": None,
    }


def test_it_tells_what_each_action_waits_for_and_what_is_possible(client, orchestrator):
    made = create(client, orchestrator).json()
    command(client, made, "start")
    found = actions(client, made)
    assert found["shift/shop/east/west"]["waiting"] == [f"action {FRONT}", "action upsize/store/west/compute"]
    assert found[FRONT]["waiting"] == []
    assert set(found[FRONT]["possible"]) == {"pause", "take_over", "skip", "edit"}
    for name, one in found.items():
        for verb in ("retry", "approve", "override", "reverse"):
            assert command(client, made, verb, level="action", subject=name).status_code == 409
            assert verb not in one["possible"]


def test_a_refused_command_says_why_and_is_recorded(client, orchestrator):
    made = create(client, orchestrator).json()
    answer = command(client, made, "pause")
    assert (answer.status_code, answer.json()["code"], answer.json()["reason"]) == (409, "conflict", "NotStarted")
    path = f"/v1/plan-executions/{made['plan_execution_id']}/commands"
    (recorded,) = client.get(path).json()["items"]
    assert (recorded["accepted"], recorded["code"], recorded["reason"]) == (False, "NotStarted", "because")


def test_an_accepted_command_is_audited_with_its_reason(client, orchestrator):
    made = create(client, orchestrator).json()
    size = actions(client, made)[FRONT]["before"] + 1
    command(client, made, "edit", level="action", subject=FRONT, size=size, reject_kind="bad_estimate")
    assert actions(client, made)[FRONT]["size"] == size
    with orchestrator.database.snapshot() as tx:
        entries = list_entries(tx, subject_kind="plan_execution").items
    assert [(entry.action, entry.reason) for entry in entries] == [("create", "weekly"), ("edit", "because")]


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"fractions": [0.5, 0.1, 1]}, "fractions must rise"),
        ({"fractions": [0.5]}, "end with 1"),
        ({"gates": [GATE, GATE]}, "same name"),
        ({"gates": [GATE | {"most": None}]}, "most or least"),
        ({"gates": [GATE | {"then": "observe"}]}, "never passes"),
        ({"gates": [GATE | {"time": "downsize"}]}, "cannot reverse"),
        ({"bake_s": -1}, "bake_s"),
    ],
)
def test_terms_are_bounded(client, orchestrator, terms, field):
    answer = create(client, orchestrator, **terms)
    assert answer.status_code == 422
    assert field in str(answer.json())


def test_what_cannot_be_executed_is_refused(client, orchestrator):
    body = {"placement_plan_id": 999, "reason": "weekly"}
    assert client.post("/v1/plan-executions", json=body).status_code == 404
    assert create(client, orchestrator).status_code == 201
    answer = create(client, orchestrator)
    assert answer.status_code == 409
    assert "abort or supersede it first" in answer.json()["detail"]
    assert command(client, {"plan_execution_id": 1}, "skip", level="action", subject="none").status_code == 422
    assert command(client, {"plan_execution_id": 1}, "skip").status_code == 409
    assert command(client, {"plan_execution_id": 1}, "edit", level="action", subject=FRONT).status_code == 422


@pytest.mark.parametrize(("level", "subject"), [("action", FRONT), ("phase", "upsize")])
def test_an_approval_belongs_to_the_size_that_was_read(client, orchestrator, level, subject):
    asks = tuple(replace(a, approval=("OwnerApproves",)) if a.action == FRONT else a for a in two_products())
    orchestrator.plan_id = store_plan(orchestrator.database, asks, orchestrator.clock)
    made = create(client, orchestrator).json()
    path = f"/v1/plan-executions/{made['plan_execution_id']}/commands"
    about = {"level": level, "subject": subject}
    read = generation_of(client, made, **about)
    assert command(client, made, "edit", level="action", subject=FRONT, size=900.0).status_code == 200
    late = command(client, made, "approve", generation=read, **about)
    assert (late.status_code, late.json()["code"]) == (409, "stale_generation")
    wrong = client.post(path, json={"verb": "approve", "reason": "r", **about}, headers={"If-Match": "7"})
    assert wrong.status_code == 400
    assert command(client, made, "approve", generation_of(client, made, **about), **about).status_code == 200
    assert command(client, made, "approve", level="action", subject="none", generation=1).status_code == 422
