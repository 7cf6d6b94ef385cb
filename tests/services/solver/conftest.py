"""Provide a solver on a real database, with a region in which one reservation needs another's spare servers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.portal.api import ROUTERS as PORTAL
from services.solver.api import ROUTERS as SOLVER
from services.solver.reconcilers.run_simulation import RunSimulation
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import stored
from tests.libs.web.conftest import bearer

SOLVED_S_MAX = 60


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """16 servers in 4 MSBs. `fat` needs 3 and holds 12; `thin` needs 6 more than the 4 that are free."""
    database = Database(database_url)
    servers = [f"server-{i:02d}" for i in range(16)]
    image = region_image(
        msbs=4,
        racks_per_msb=1,
        servers_per_rack=4,
        reservations={
            "fat": ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}),
            "thin": ReservationSpec(capacity_rru=6, rru={"hw-a": 1.0}),
        },
        current=dict.fromkeys(servers[:12], "fat"),
    )
    stored(database, image)
    yield database
    database.close()


@pytest.fixture
def settings(tmp_path: Path) -> SolverSettings:
    return SolverSettings.model_validate({"PLIMSOLL_BUNDLE_DIR": tmp_path / "bundles", "PLIMSOLL_BUNDLES_MAX": 2})


@pytest.fixture
def solver_of(settings: SolverSettings) -> Callable[[Database], SolveBindings]:
    return lambda database: SolveBindings(database, SystemClock(), settings, "west", "test")


@pytest.fixture
def solver(database: Database, solver_of: Callable[[Database], SolveBindings]) -> Callable[[], SolveBindings]:
    return lambda: solver_of(database)


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    """The routes of the solver, and of the portal, which applies simulations."""
    app = create_app(title="Solver", version="1", database=database, clock=SystemClock(), routers=(*SOLVER, *PORTAL))
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@pytest.fixture
def simulate(client: TestClient, database: Database, settings: SolverSettings) -> Callable[..., dict]:
    def run(**what_if: object) -> dict:
        asked = client.post("/v1/simulations", json={"region": "west", **what_if})
        assert asked.status_code == 202, asked.json()
        assert asked.json()["status"] == "queued"
        RunSimulation(database, SystemClock(), settings, asked.json()["simulation_id"]).reconcile()
        return client.get(asked.headers["Location"]).json()

    return run
