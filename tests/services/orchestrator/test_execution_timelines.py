"""Test the routes of time lines, gates, and foretold answers."""

import pytest
from fastapi.testclient import TestClient

from libs.domain.gate import Gate, GateTime
from libs.domain.plan_execution import Terms, Verb
from libs.domain.principal import Role
from libs.executions.graphs import load_seen_progress
from libs.store.executions.actions import load_progress
from libs.store.executions.executions import load_execution
from libs.web.app import create_app
from services.orchestrator.api import ROUTERS
from tests.builders.executed_plan import Orchestrator
from tests.libs.web.conftest import bearer

SHIFT = "shift/shop/east/west"
GATED = Terms(
    bake_s=600.0, downsize_bake_s=600.0, gates=(Gate(name="errors", time=GateTime.FRACTION, query="e", most=0.01),)
)


@pytest.fixture
def client(orchestrator: Orchestrator):
    app = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.VIEWER)) as client:
        yield client


def get(client, execution_id: int, part: str, **query):
    answer = client.get(f"/v1/plan-executions/{execution_id}/{part}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lane_of(timeline, action):
    return next(one for one in timeline["lanes"] if one["action"] == action)


def test_a_time_line_follows_the_execution(client, orchestrator):
    execution_id = orchestrator.start()
    before = get(client, execution_id, "timeline")
    assert (before["lanes_are"], len(before["lanes"])) == ("action", before["actions"])
    assert all(not step["begun"] for step in before["critical_path"])
    assert before["ready_at"] == max(step["ends_at"] for step in before["critical_path"])
    orchestrator.tick()
    orchestrator.tick()
    during = get(client, execution_id, "timeline")
    (past,) = lane_of(during, "upsize/shop-front/west/compute")["intervals"]
    assert not past["expected"]
    shift = lane_of(during, SHIFT)
    assert [one["expected"] for one in shift["intervals"]] == [False, True]
    assert shift["intervals"][0]["ends_at"] == shift["intervals"][1]["begins_at"]
    orchestrator.run(execution_id)
    after = get(client, execution_id, "timeline")
    assert after["ready_at"] is None
    assert all(step["ended"] for step in after["critical_path"])
    assert not any(one["expected"] for lane in after["lanes"] for one in lane["intervals"])


def test_progress_is_kept_until_the_execution_changes(orchestrator):
    execution_id = orchestrator.start()

    def read():
        with orchestrator.database.snapshot() as tx:
            progress = load_seen_progress(tx, load_execution(tx, execution_id))
            return progress, load_progress(tx, execution_id)

    first, _ = read()
    assert read()[0] is first
    with pytest.raises(ValueError, match="read-only"):
        first.state[0] = 0
    orchestrator.tick()
    second, stored = read()
    assert second.state.tolist() == stored.state.tolist() != first.state.tolist()


def test_many_actions_collapse_and_the_answer_says_so(client, orchestrator):
    execution_id = orchestrator.start()
    small = get(client, execution_id, "timeline", lanes_max=5)
    whole = get(client, execution_id, "timeline")
    assert small["lanes_are"] == "phase"
    assert small["actions"] == whole["actions"]
    assert all(lane["action"] is None for lane in small["lanes"])
    assert client.get(f"/v1/plan-executions/{execution_id}/timeline", params={"lanes_max": 0}).status_code == 422


def test_gates_tell_their_verdict_and_the_latest_reading(client, orchestrator):
    execution_id = orchestrator.start(GATED)
    assert get(client, execution_id, "gates")["items"] == []
    orchestrator.world.value = lambda question: 0.5
    for _ in range(4):
        orchestrator.tick()
    found = get(client, execution_id, "gates")["items"]
    one = next(gate for gate in found if gate["action"] == SHIFT)
    assert (one["gate"], one["verdict"], one["value"], one["bound"]) == ("errors", "bad", 0.5, "<= 0.01")
    assert (one["state"], one["overridden"]) == ("held", False)
    orchestrator.command(execution_id, Verb.OVERRIDE, SHIFT)
    again = next(gate for gate in get(client, execution_id, "gates")["items"] if gate["action"] == SHIFT)
    assert again["overridden"]


def test_each_foretold_refusal_is_the_one_that_the_command_gets(client, orchestrator):
    execution_id = orchestrator.start()
    orchestrator.tick()
    for level, subject in (("plan", None), ("phase", "shift"), ("action", SHIFT)):
        query = {"level": level} | ({"subject": subject} if subject else {})
        answers = get(client, execution_id, "command-answers", **query)["items"]
        assert {one["verb"] for one in answers} == set(Verb)
        for one in answers:
            assert one["possible"] == (one["code"] is None) == (one["message"] is None)
    path = f"/v1/plan-executions/{execution_id}"
    possible = {one["verb"] for one in get(client, execution_id, "command-answers")["items"] if one["possible"]}
    assert possible == set(client.get(path).json()["possible"])
    (action,) = get(client, execution_id, "actions", action=SHIFT)["items"]
    of_action = get(client, execution_id, "command-answers", level="action", subject=SHIFT)["items"]
    assert {one["verb"] for one in of_action if one["possible"]} == set(action["possible"])
    refused = next(one for one in of_action if one["verb"] == "complete")
    given = orchestrator.command(execution_id, Verb.COMPLETE, SHIFT).record
    assert (refused["code"], refused["message"]) == (given.code, given.message)


@pytest.mark.parametrize(
    "query", [{"level": "phase"}, {"subject": "shift"}, {"level": "action", "subject": "none"}, {"level": "world"}]
)
def test_a_subject_must_fit_its_level(client, orchestrator, query):
    execution_id = orchestrator.start()
    answer = client.get(f"/v1/plan-executions/{execution_id}/command-answers", params=query)
    assert answer.status_code == 422


def test_an_unknown_execution_is_missing(client, orchestrator):
    for part in ("timeline", "gates", "command-answers"):
        assert client.get(f"/v1/plan-executions/999/{part}").status_code == 404
