"""Put a world through REST and intake, plan it in the service, judge it, and compare with the plan from files."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from libs.domain.plan_run import PlanRunStatus
from libs.domain.principal import Role
from libs.web.app import create_app
from services.cli.flux.offline import make_plan
from services.planner.api import LARGE_BODIES, ROUTERS
from services.planner.reconcilers.make_placement_plan import MakePlacementPlan
from services.planner.settings import PlannerSettings
from tests.builders.intake import send_world
from tests.builders.planning_inputs import put_world
from tests.libs.web.conftest import bearer

ZERO = "2026-11-02T00:00:00Z"


class Later:
    """Some days after the world's first."""

    def __init__(self, days):
        self._now = datetime(2026, 11, 2, 9, tzinfo=UTC) + timedelta(days=days)

    def now(self):
        return self._now


@pytest.fixture
def through_the_service(database, tmp_path):
    def run(folder, days):
        clock = Later(days)
        given = {"title": "Planner", "version": "1", "database": database, "clock": clock}
        app = create_app(**given, routers=ROUTERS, large_bodies=LARGE_BODIES)
        with (
            TestClient(app, headers=bearer(database, Role.OPERATOR)) as client,
            TestClient(app, headers=bearer(database, Role.TELEMETRY, name="tracer")) as tracer,
        ):
            put_world(client, folder, ZERO)
            send_world(tracer, database, clock, folder, ZERO)
            assert client.post("/v1/plan-runs", json={}).status_code == 202
            found = {"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles", "PLIMSOLL_PLAN_WINDOW_DAYS": days}
            planner = MakePlacementPlan(database, clock, PlannerSettings.model_validate(found))
            assert planner.reconcile() is PlanRunStatus.DONE
            [made] = client.get("/v1/plan-runs").json()["items"]
            plan = client.get(f"/v1/placement-plans/{made['placement_plan_id']}").json()
            models = client.get(f"/v1/placement-plans/{made['placement_plan_id']}/models").json()
            page = client.get("/v1/service-models", params={"limit": 2}).json()
            rest = client.get("/v1/service-models", params={"cursor": page["next_cursor"]}).json()
            listed = {one["service"]: one["document"] for one in page["items"] + rest["items"]}
            assert listed == models["services"]
            return made, plan, models

    return run


def test_the_service_plans_as_the_files_do(through_the_service, world):
    run, plan, models = through_the_service(world, 2)
    offline = make_plan(world)
    # Usage and traffic are stored in single precision.
    assert plan["summary"]["objective"] == pytest.approx(offline.solved.solution.objective, rel=1e-5)
    assert run["report"]["unknown"] == {"usage": 0, "traffic": 0, "demand": 0, "ledger": 0}
    assert run["report"]["spans"] == 480
    shares = offline.models.attribution
    for s, service in enumerate(offline.words.services):
        found = [models["services"][service]["attribution"][product] for product in offline.words.products]
        assert found == pytest.approx(shares[s].tolist(), abs=1e-6)
    again = make_plan(type(world)(run["bundle"]))
    assert again.models.spans.tolist() == offline.models.spans.tolist()
    assert again.models.coverage.tolist() == offline.models.coverage.tolist()
    assert again.solved.solution.objective == pytest.approx(plan["summary"]["objective"], rel=1e-12)


@pytest.mark.shared
def test_the_judge_finds_nothing_wrong(through_the_service, shared, tmp_path):
    world = tmp_path / "world"
    options = ("--seed", "77", "--services", "16", "--regions", "5", "--traces", "3000")
    subprocess.run([sys.executable, shared / "bench" / "flux_world.py", world, *options], check=True)
    last = max(float(line.split(",")[0]) for line in (world / "usage.csv").read_text().splitlines()[1:])
    _, plan, models = through_the_service(world, int(last // 1440) + 1)
    (tmp_path / "model.json").write_text(json.dumps(models))
    (tmp_path / "plan.json").write_text(json.dumps({"steps": plan["steps"]}))
    judge = [shared / "bench" / "flux_evaluate.py", world, tmp_path / "model.json", tmp_path / "plan.json", "--truth"]
    done = subprocess.run([sys.executable, *judge], capture_output=True, text=True, check=True)
    judged = json.loads(done.stdout)
    assert judged["violations"] == {}
    assert judged["objective"] == pytest.approx(plan["summary"]["objective"], rel=1e-4)
    assert judged["model"]["attribution_distance_mean"] <= 0.03
