"""A planner on a real database, and a client that may operate it."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.planner.api import LARGE_BODIES, ROUTERS
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
