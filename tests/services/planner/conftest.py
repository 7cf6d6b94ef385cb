"""Provide a planner on a real database, a client that may operate it, and its runs."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.planner.api import LARGE_BODIES, ROUTERS
from services.planner.reconcilers.make_placement_plan import MakePlacementPlan
from services.planner.settings import PlannerSettings
from tests.builders.measured import measure_world
from tests.builders.world import write_world
from tests.libs.web.conftest import bearer


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    app = create_app(
        title="Planner", version="1", database=database, clock=SystemClock(), routers=ROUTERS, large_bodies=LARGE_BODIES
    )
    with TestClient(app, headers=bearer(database, Role.OPERATOR)) as client:
        yield client


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("planner") / "world")


DAY_ZERO = datetime(2026, 11, 2, tzinfo=UTC)


class FixedClock:
    """Noon of the day after the world's two days."""

    def now(self):
        return DAY_ZERO + timedelta(days=2, hours=12)


@pytest.fixture
def settings(tmp_path):
    found = {"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles", "PLIMSOLL_PLAN_WINDOW_DAYS": 2, "PLIMSOLL_PLANS_MAX": 2}
    return PlannerSettings.model_validate(found)


@pytest.fixture
def planner(database, settings, world):
    def make(**changes):
        given = {
            "database": database,
            "clock": FixedClock(),
            "settings": settings,
            "measure": measure_world(world, DAY_ZERO),
        }
        return MakePlacementPlan(**given | changes)

    return make


@pytest.fixture
def ask(client):
    def ask(**body):
        answer = client.post("/v1/plan-runs", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()["plan_run_id"]

    return ask


def look(client, plan_run_id):
    return client.get(f"/v1/plan-runs/{plan_run_id}").json()
