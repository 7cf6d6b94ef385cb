"""Provide the planner's intake on a real database, with an entry point for each of two products."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.domain.world import Vocabulary
from libs.reconcile.clock import SystemClock
from libs.store.planner.planning_inputs import append_version
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.planner.api import LARGE_BODIES, ROUTERS
from services.planner.otlp_errors import OtlpErrors
from tests.libs.web.conftest import bearer

NOW = datetime(2026, 11, 2, 10, tzinfo=UTC)
GATEWAYS = {
    "product": ["shop", "search"],
    "service": ["front", "finder"],
    "operation": ["GET /", "GET /find"],
}
WORDS = Vocabulary(
    products=np.array(["shop", "search", "unseen"], object),
    regions=np.array(["east", "west"], object),
    hardware_types=np.array(["hw", "flash"], object),
    services=np.array(["store", "front", "finder", "unheard"], object),
    service_type=np.array([0, 0, 0, 0], np.int32),
    placement_service=np.array([0, 1, 2, 3, 0], np.int32),
    placement_type=np.array([0, 0, 0, 0, 1], np.int32),
    placement_ratio=np.array([1.0, 1.0, 1.0, 1.0, 0.5]),
)


def gateways_content(columns: dict[str, list[str]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def gateways(database: Database) -> None:
    with database.write() as tx:
        content = gateways_content(GATEWAYS)
        append_version(tx, "gateways", content, rows=2, generation=0, comment=None, created_by="olga", now=NOW)


@pytest.fixture
def make_app(database: Database) -> Callable[[], FastAPI]:
    """A process of the planner's API, with a span intake of its own."""

    def make() -> FastAPI:
        app = create_app(
            title="Planner",
            version="1",
            database=database,
            clock=SystemClock(),
            routers=ROUTERS,
            large_bodies=LARGE_BODIES,
        )
        app.add_middleware(OtlpErrors)
        return app

    return make


@pytest.fixture
def reporter(make_app: Callable[[], FastAPI], database: Database, gateways: None) -> Iterator[TestClient]:
    """A client with a telemetry token."""
    with TestClient(make_app(), headers=bearer(database, Role.TELEMETRY, "collector")) as client:
        yield client


@pytest.fixture
def operator(make_app: Callable[[], FastAPI], database: Database) -> Iterator[TestClient]:
    with TestClient(make_app(), headers=bearer(database, Role.OPERATOR, "olga")) as client:
        yield client


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The app behind a real socket, for clients with their own HTTP."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 120
    while not server.started:
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
