"""Kill a worker at every crash point of the planner: each span counts once, and each run ends in one plan."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.reconcile.jobs import WORLD
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from libs.store.platform.schedules import ensure_schedules
from libs.web.app import create_app
from services.planner.api import LARGE_BODIES, ROUTERS
from tests.builders.intake import upload_world
from tests.builders.planning_inputs import put_world
from tests.builders.world import write_world
from tests.crash.harness import JobProcesses, wait_until
from tests.crash.points import crash_points
from tests.libs.web.conftest import bearer

STEMS = sorted({point.rpartition(".")[0] for point in crash_points() if point.startswith("planner.")})
SPANS = 80
WAITING = "SELECT coalesce(sum(spans), 0) FROM span_batches"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def client(database: Database, tmp_path: Path) -> Iterator[TestClient]:
    """A world that ended last midnight is stored, and its spans wait to be summed."""
    clock = SystemClock()
    zero = (datetime.now(UTC) - timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0).isoformat()
    given = {"title": "Planner", "version": "1", "database": database, "clock": clock}
    app = create_app(**given, routers=ROUTERS, large_bodies=LARGE_BODIES)
    world = write_world(tmp_path / "world", traces=SPANS // 2)
    with TestClient(app, headers=bearer(database, Role.ADMIN)) as client:
        put_world(client, world, zero)
        upload_world(client, world, zero)
        yield client


@pytest.mark.parametrize("stem", STEMS)  # a plan run has three attempts, so not all of its points fit in one run
def test_killed_before_and_after_it_nothing_is_lost(
    stem: str, client: TestClient, database: Database, database_url: str, tmp_path: Path
) -> None:
    run = client.post("/v1/plan-runs", json={}).json()["plan_run_id"]
    with database.write() as tx:
        ensure_schedules(tx, {}, {"sum_spans": 0.2}, now=datetime.now(UTC))
        if stem == "planner.spans":  # a plan does not delay it
            tx.execute(sa.text("DELETE FROM jobs WHERE kind = 'plan'"))
    env = {"PLIMSOLL_BUNDLE_DIR": str(tmp_path / "bundles"), "PLIMSOLL_TRACE_WINDOW_S": "0.01"}
    with JobProcesses(tmp_path, database_url, **env) as processes:
        processes.crash_at_each([f"{stem}.before", f"{stem}.after"])
        with database.write() as tx:
            enqueue(tx, "plan", WORLD)
        processes.start()
        wait_until(lambda: client.get(f"/v1/plan-runs/{run}").json()["finished_at"] is not None, "the run has ended")
        wait_until(
            lambda: count(database, "SELECT coalesce(sum(spans), 0) FROM span_batches") == 0, "every span is summed"
        )
    found = client.get(f"/v1/plan-runs/{run}").json()
    assert (found["status"], found["error"]) == ("done", None)
    [plan] = client.get("/v1/placement-plans").json()["items"]
    assert (plan["target"], plan["plan_run_id"]) == (True, run)
    assert found["placement_plan_id"] == plan["placement_plan_id"]
    assert count(database, "SELECT sum(spans) FROM span_sums") == SPANS


def count(database: Database, query: str) -> int:
    with database.snapshot() as tx:
        return int(tx.execute(sa.text(query)).scalar_one())
