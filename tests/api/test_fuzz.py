"""Run Schemathesis over every operation of all services: none answers 5xx, and most are really reached.

Half of the cases follow the schema, half break it. Routes that take files also get files, good and damaged ones.
`./scripts/soak api` runs the same for any length of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from schemathesis.schemas import APIOperation

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.mover.api import ROUTERS as MOVER
from services.orchestrator.api import ROUTERS as ORCHESTRATOR
from services.planner.api import ROUTERS as PLANNER
from services.planner.otlp_errors import OtlpErrors
from services.planner.reconcilers.make_placement_plan import MakePlacementPlan
from services.planner.settings import PlannerSettings
from services.portal.api import ROUTERS as PORTAL
from services.solver.api import ROUTERS as SOLVER
from soak.fuzz.cases import Fuzz
from soak.fuzz.seeds import OWNER, Seeds
from soak.fuzz.uploads import UPLOADS
from tests.builders.clock import ManualClock
from tests.builders.measured import measure_world
from tests.builders.planning_inputs import put_world
from tests.builders.world import write_world
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import assess_all, database  # noqa: F401 - fixtures

EXAMPLES, UPLOADS_EACH = 8, 40
PLANNED = (
    "/planning-inputs",
    "/plan-runs",
    "/placement-plans",
    "/service-models",
    "/plan-overrides",
    "/capacity-events",
    "/metric-sources",
)
"""Nouns of which every operation must be reached. Routes for files or spans have tests of their own."""
CHANGED_WORLD = {
    "GET /v1/placement-plans/{placement_plan_id}/what-if",
    "POST /v1/placement-plans/{placement_plan_id}/apply",
}
"""They need a plan for a changed world: tests/services/planner/test_what_if.py."""


@pytest.fixture
def app(database: Database) -> FastAPI:  # noqa: F811
    routers = [*PORTAL, *BROKER, *SOLVER, *MOVER, *PLANNER, *ORCHESTRATOR]
    app = create_app(title="Plimsoll", version="1", database=database, clock=SystemClock(), routers=routers)
    app.add_middleware(OtlpErrors)
    return app


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:  # noqa: F811
    with TestClient(app, headers=bearer(database, Role.ADMIN), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def planned(client: TestClient, database: Database, tmp_path: Path) -> Callable[[], int]:  # noqa: F811
    """Put the inputs of a small world and plan it; return the id of the plan."""

    def planned() -> int:
        clock, world = ManualClock(), write_world(tmp_path / "world")
        day_zero = clock.now().replace(hour=0) - timedelta(days=2)
        put_world(client, world, minute_zero=day_zero.isoformat())
        run = client.post("/v1/plan-runs", json={}).json()["plan_run_id"]
        settings = PlannerSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path, "PLIMSOLL_PLAN_WINDOW_DAYS": 2})
        MakePlacementPlan(database, clock, settings, measure_world(world, day_zero)).reconcile()
        return int(client.get(f"/v1/plan-runs/{run}").json()["placement_plan_id"])

    return planned


@pytest.mark.timeout(1500)  # some hundred operations; as long as a busy machine takes
def test_every_operation(
    app: FastAPI,
    client: TestClient,
    assess_all: Callable[[], None],  # noqa: F811
    planned: Callable[[], int],
) -> None:
    operations = operations_of(app)
    fuzz = Fuzz(client, [client], Seeds(client, assess=assess_all, placement_plan_id=planned()))
    for operation in operations:
        fuzz.every_case(operation, EXAMPLES)
        fuzz.upload(operation, UPLOADS_EACH)
    reached = {label for label, seen in fuzz.statuses.items() if any(200 <= status < 300 for status in seen)}
    broken = {label: seen for label, seen in fuzz.statuses.items() if any(status >= 500 for status in seen)}
    print(f"{len(reached)} of {len(fuzz.statuses)} operations reached 2xx; not: {sorted(set(fuzz.statuses) - reached)}")
    assert not broken
    assert len(reached) > len(fuzz.statuses) / 2, sorted(set(fuzz.statuses) - reached)
    assert reached >= {label for label in UPLOADS if "/regions/" not in label}
    planner = {label for label in fuzz.statuses if any(noun in label for noun in PLANNED)}
    assert len(planner) > 20
    assert planner - CHANGED_WORLD <= reached, sorted(planner - reached)


@pytest.mark.timeout(1500)
def test_every_operation_by_every_other_role(
    app: FastAPI,
    client: TestClient,
    database: Database,  # noqa: F811
    assess_all: Callable[[], None],  # noqa: F811
) -> None:
    others = [role for role in Role if role is not Role.ADMIN]
    with ExitStack() as stack:
        callers = [
            stack.enter_context(
                TestClient(
                    app,
                    headers=bearer(database, role, role, owners=(OWNER,) if role is Role.REQUESTER else ()),
                    raise_server_exceptions=False,
                )
            )
            for role in others
        ]
        fuzz = Fuzz(client, callers, Seeds(client, assess=assess_all))
        for operation in operations_of(app):
            fuzz.every_case(operation, len(others))
            fuzz.upload(operation, UPLOADS_EACH)
    broken = {label: seen for label, seen in fuzz.statuses.items() if any(status >= 500 for status in seen)}
    assert not broken
    for label in ("POST /v1/traces", "POST /v1/usage"):  # some of them may report, and these bodies were read
        assert fuzz.statuses[label] & {200, 422}, label
    assert 403 in fuzz.statuses["PUT /v1/regions/{region}/approval-limits"]


def operations_of(app: FastAPI) -> list[APIOperation]:
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    return [result.ok() for result in schema.get_all_operations()]
