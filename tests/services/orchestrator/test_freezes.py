"""Test the calendar of freezes: its routes, and its effect on executions in the database."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from libs.domain.plan_execution import ActionState, ExecutionState, Verb
from libs.domain.principal import Role
from libs.store.platform.audit import list_entries
from libs.web.app import create_app
from services.orchestrator.api import ROUTERS
from services.orchestrator.reconcilers import advance_executions
from services.planner.api import LARGE_BODIES, capacity_events, planning_inputs
from tests.builders.executed_plan import Orchestrator
from tests.builders.planning_inputs import put_world
from tests.builders.world import write_world
from tests.libs.web.conftest import bearer

FRONT = "upsize/shop-front/west/compute"


@pytest.fixture
def client(orchestrator: Orchestrator):
    app = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.OPERATOR, "olga")) as client:
        yield client


def freeze(client, orchestrator, *, hours=2.0, **more):
    now = orchestrator.clock.now()
    times = {"starts_at": now.isoformat(), "ends_at": (now + timedelta(hours=hours)).isoformat()}
    return client.post("/v1/freezes", json={"scope": "all", "reason": "the sale"} | times | more)


def actions(client, execution_id):
    items = client.get(f"/v1/plan-executions/{execution_id}/actions").json()["items"]
    return {one["action"]: one for one in items}


def command(client, execution_id, verb, **more):
    body = {"verb": verb, "reason": "a launch"} | more
    return client.post(f"/v1/plan-executions/{execution_id}/commands", json=body)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"hours": -1}, "ends_at"),
        ({"hours": 24 * 400}, "ends_at"),
        ({"scope": "region"}, "name"),
        ({"name": "west"}, "name"),
        ({"scope": "everything"}, "scope"),
    ],
)
def test_a_refusal_names_the_field(client, orchestrator, more, field):
    answer = freeze(client, orchestrator, **more)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])


def test_what_is_entered_holds_until_it_ends(client, orchestrator):
    execution_id = orchestrator.start()
    made = freeze(client, orchestrator).json()
    assert (made["on"], made["created_by"]) == (True, "olga")
    orchestrator.run(execution_id, 5)
    assert orchestrator.world.asked == []
    assert [w for w in actions(client, execution_id)[FRONT]["waiting"] if w.startswith("freeze 1 until")]
    ended = client.post("/v1/freezes/1/end", json={"reason": "over"}, headers={"If-Match": '"1"'})
    assert (ended.status_code, ended.json()["on"], ended.json()["ended_by"]) == (200, False, "olga")
    again = client.post("/v1/freezes/1/end", json={"reason": "over"}, headers={"If-Match": '"2"'})
    assert again.json()["code"] == "wrong_phase"
    assert orchestrator.run(execution_id) is ExecutionState.DONE
    with orchestrator.database.snapshot() as tx:
        entries = list_entries(tx, subject_kind="freeze").items
    assert [(entry.action, entry.reason) for entry in entries] == [("create", "the sale"), ("end", "over")]


def test_nothing_is_offered_that_a_freeze_refuses(client, orchestrator):
    execution_id = orchestrator.create().plan_execution_id
    freeze(client, orchestrator)
    path = f"/v1/plan-executions/{execution_id}"
    for shown in (client.get(path).json(), client.get("/v1/plan-executions").json()["items"][0]):
        assert set(shown["possible"]) == {"abort", "supersede", "override_freeze"}
    assert command(client, execution_id, "start").json()["reason"] == "Frozen"
    for name, one in actions(client, execution_id).items():
        for verb in ("retry", "override", "resume", "override_freeze"):
            answer = command(client, execution_id, verb, level="action", subject=name)
            assert (answer.status_code == 200) == (verb in one["possible"]), (name, verb, answer.text)


def test_an_override_is_for_the_freezes_of_now_and_goes_along_when_all_is_taken_back(client, orchestrator):
    execution_id = orchestrator.start()
    freeze(client, orchestrator, hours=50)
    assert command(client, execution_id, "override_freeze").status_code == 200
    orchestrator.run(execution_id, 5)
    assert orchestrator.world.asked
    assert command(client, execution_id, "reverse").status_code == 200
    orchestrator.run(execution_id)
    assert orchestrator.load(execution_id + 1).state is ExecutionState.DONE
    other = freeze(client, orchestrator).json()
    assert other["freeze_id"] == 2


def test_a_freeze_that_was_entered_during_a_tick_is_respected(client, orchestrator, monkeypatch):
    execution_id = orchestrator.start()
    decide = advance_executions.next_steps

    def meanwhile(*arguments):
        found = decide(*arguments)
        freeze(client, orchestrator)
        return found

    monkeypatch.setattr(advance_executions, "next_steps", meanwhile)
    orchestrator.tick()
    assert orchestrator.world.asked == []
    assert orchestrator.states(execution_id)[FRONT] is ActionState.WAITING


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"scope": "region"}, "name the region"),
        ({"name": "east"}, "has no name"),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "after starts_at"),
        ({"starts_at": "2020-01-01T00:00:00Z", "ends_at": "2020-01-02T00:00:00Z"}, "in the past"),
        ({"ends_at": "2090-01-01T00:00:00Z"}, "at most 366 days"),
    ],
)
def test_its_fields_are_bounded(client, orchestrator, body, told):
    answer = freeze(client, orchestrator, **body)
    assert answer.status_code == 422
    assert told in answer.text


@pytest.fixture
def planner(orchestrator, tmp_path):
    """A client of the planner, in which the inputs of a world are put."""
    routers, clock = [planning_inputs.router, capacity_events.router], orchestrator.clock
    app = create_app(
        title="p",
        version="1",
        database=orchestrator.database,
        clock=clock,
        routers=routers,
        large_bodies=LARGE_BODIES,
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.OPERATOR, "pia")) as client:
        put_world(client, write_world(tmp_path / "world"))
        yield client


def test_a_misspelt_name_does_not_freeze_nothing(client, orchestrator, planner):
    """Names of the planning inputs exist, and those of the ledger, whose events may come before them."""
    for scope, name, near in (("region", "eats", "east"), ("service", "stroe", "store"), ("product", "shpo", "shop")):
        refused = freeze(client, orchestrator, scope=scope, name=name)
        (error,) = refused.json()["errors"]
        assert (refused.status_code, error["field"], error["code"]) == (422, "name", "unknown_name")
        assert near in error["known"]
        assert freeze(client, orchestrator, scope=scope, name=near).status_code == 201
    effect = {"kind": "capacity", "service": "stroe", "region": "coast", "hardware_type": "compute", "delta": 1}
    event = {"effect": effect, "writer": "budget", "reason": "new", "starts_at": "2026-12-01T00:00:00Z"}
    assert planner.post("/v1/capacity-events", json={"events": [event]}).status_code == 201
    for scope, name in (("region", "coast"), ("service", "stroe")):
        assert freeze(client, orchestrator, scope=scope, name=name).status_code == 201


def test_freezes_may_overlap_and_are_listed(client, orchestrator):
    for scope, name in (("region", "west"), ("service", "store"), ("product", "shop")):
        assert freeze(client, orchestrator, scope=scope, name=name).status_code == 201
    orchestrator.clock.sleep(3 * 3600.0)
    freeze(client, orchestrator)
    assert [one["freeze_id"] for one in client.get("/v1/freezes").json()["items"]] == [4, 3, 2, 1]
    assert [one["freeze_id"] for one in client.get("/v1/freezes?open=true").json()["items"]] == [4]
    orchestrator.command(orchestrator.create().plan_execution_id, Verb.ABORT)
