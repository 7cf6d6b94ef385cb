"""Figures of executions are recorded at their end, and shown side by side."""

import xml.etree.ElementTree as ElementTree

import pytest
from fastapi.testclient import TestClient

from libs.domain.action_outcome import Answer, Outcome
from libs.domain.plan_execution import ExecutionState, Verb
from libs.domain.principal import Role
from libs.web.app import create_app
from services.orchestrator.api import ROUTERS
from tests.builders.executed_plan import store_plan
from tests.builders.execution import two_products
from tests.libs.web.conftest import bearer

PATH = "/v1/execution-figures"


@pytest.fixture
def client(orchestrator):
    app = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(app, headers=bearer(orchestrator.database, Role.VIEWER)) as client:
        yield client


def test_figures_stay_when_an_execution_ends(client, orchestrator):
    first = orchestrator.start()
    orchestrator.tick()
    [running] = client.get(PATH).json()["executions"]
    assert (running["state"], running["finished_at"], running["completion_h"]) == ("running", None, None)
    assert 0 < running["figures"]["upsized"] == running["figures"]["upsize"]
    assert running["figures"]["downsized"] == 0
    assert orchestrator.run(first) is ExecutionState.DONE
    orchestrator.plan_id = store_plan(orchestrator.database, two_products(), orchestrator.clock)
    second = orchestrator.start()
    skipped = next(name for name in orchestrator.states(second) if name.startswith("downsize/"))
    orchestrator.command(second, Verb.SKIP, skipped)
    assert orchestrator.run(second) is ExecutionState.DONE
    found = client.get(PATH).json()
    before, after = found["executions"]
    assert [one["plan_execution_id"] for one in (before, after)] == [first, second]
    assert before["figures"]["downsized"] == before["figures"]["downsize"] > after["figures"]["downsized"]
    assert before["figures"] == client.get(f"/v1/plan-executions/{first}").json()["figures"]
    assert before["completion_h"] >= before["resize_h"][4] >= before["resize_h"][0] >= 0
    service = skipped.split("/")[1]
    [one] = client.get(PATH, params={"service": service}).json()["services"]
    assert one["executions"][0]["above"] == 0 < one["executions"][1]["above"]
    assert len(client.get(PATH, params={"last": 1, "services_max": 2}).json()["services"]) == 2


def test_the_time_of_a_resize_is_from_its_request_to_its_end(client, orchestrator):
    """Ticks are 300 s apart, and the world says for two of them that it is still at work."""
    orchestrator.world.say = lambda request: Answer(outcome=Outcome.RUNNING)
    made = orchestrator.start()
    for _ in range(3):
        orchestrator.tick()
    orchestrator.world.say = lambda request: Answer(outcome=Outcome.DONE)
    orchestrator.tick()
    [one] = client.get(PATH).json()["executions"]
    assert one["plan_execution_id"] == made
    assert one["resize_h"] == pytest.approx([900 / 3600] * 5)


@pytest.mark.parametrize("name", ["automation", "completion", "coverage"])
def test_pictures_are_drawn_without_and_with_executions(client, orchestrator, name):
    for _ in range(2):
        answer = client.get(f"{PATH}/pictures/{name}.svg")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        tree = ElementTree.fromstring(answer.text)
        dots = [one for one in tree.iter() if one.tag.endswith("circle")]
        if not orchestrator.world.asked:
            assert not dots
            orchestrator.run(orchestrator.start())
    assert dots
    assert "nan" not in answer.text


def test_only_these_pictures_exist(client):
    assert client.get(f"{PATH}/pictures/other.svg").status_code == 422
