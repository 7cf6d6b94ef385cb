"""Provide the broker on an empty real database."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.interchange.region.write import dump_region
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS
from tests.builders.uploaded_region import image, upload
from tests.libs.web.conftest import bearer


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def app(database: Database) -> FastAPI:
    return create_app(title="Broker", version="1", database=database, clock=SystemClock(), routers=ROUTERS)


@pytest.fixture
def operator(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@pytest.fixture
def viewer(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.VIEWER, "vera")) as client:
        yield client


@pytest.fixture
def imported(operator: TestClient) -> None:
    """The region `west` of tests/builders/uploaded_region.py is stored."""
    assert upload(operator, dump_region(image())).status_code == 201
