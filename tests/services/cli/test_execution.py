"""Run `plimsoll execution` against the routes of the orchestrator, in this process."""

import json

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from libs.domain.plan_execution import Verb
from libs.domain.principal import Role
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.cli.client import Client
from services.cli.execution import app
from services.cli.failure import CliFailure
from services.orchestrator.api import ROUTERS
from tests.builders.clock import ManualClock
from tests.builders.executed_plan import Orchestrator
from tests.libs.web.conftest import bearer


@pytest.fixture
def orchestrator(database_url: str):
    database = Database(database_url, pool_size=4)
    yield Orchestrator(database, ManualClock())
    database.close()


@pytest.fixture
def run(orchestrator: Orchestrator, monkeypatch: pytest.MonkeyPatch):
    api = create_app(
        title="t", version="1", database=orchestrator.database, clock=orchestrator.clock, routers=list(ROUTERS)
    )
    with TestClient(api, headers=bearer(orchestrator.database, Role.OPERATOR)) as http:
        client = Client("http://testserver", "none")
        client._http = http
        monkeypatch.setattr(Client, "connect", classmethod(lambda cls: client))

        def run(*arguments: object) -> str:
            done = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return "\n".join(line for line in done.stdout.splitlines() if not line.startswith('{"method"'))  # no logs

        yield run


def test_a_plan_is_carried_out_from_the_command_line(run, orchestrator):
    assert "execution 1 is a draft" in run("create", orchestrator.plan_id, "--reason", "weekly")
    assert "execution 1 is running" in run("give", 1, "start", "--reason", "now")
    found = json.loads(run("actions", 1, "--phase", "upsize", "-o", "json"))
    assert {one["phase"] for one in found} == {"upsize"}
    assert "1 actions changed" in run("give", 1, "pause", "--reason", "wait", "--action", found[0]["action"])
    assert "take_over" in run("actions", 1)
    with pytest.raises(CliFailure, match="it is not paused"):
        run("give", 1, "resume", "--reason", "on")
    assert json.loads(run("commands", 1, "-o", "json"))[0]["code"] == "NotPaused"
    assert "Accepted".upper() in run("commands", 1)
    orchestrator.command(1, Verb.RESUME, found[0]["action"])
    orchestrator.run(1)
    assert json.loads(run("show", 1, "-o", "json"))["state"] == "done"
    assert "weekly" in run("list", "--state", "done")
