"""Provide the portal on a real database, with a region of 48 servers: 2 datacenters, 4 MSBs, two hardware types."""

from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.store.capacity.capacity_requests import list_unassessed
from libs.store.platform.database import Database
from libs.store.regions.region_import import import_region
from libs.web.app import create_app
from services.portal.api import ROUTERS
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from tests.builders.region import region_image
from tests.libs.web.conftest import bearer

OLD = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
BUFFER = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
OWNERS = ("team", "one", "two", "me")
WEB = {"capacity_rru": 6, "rru": {"hw-a": 1, "hw-b": 2}}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    image = region_image(
        "west",
        datacenters=2,
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=6,
        hardware_types=("hw-a", "hw-b"),
        reservations={"old": OLD, "shared-buffer-hw-a": BUFFER},
        current={"server-00": "old", "server-01": "old"},
        kind={"shared-buffer-hw-a": "shared_buffer"},
    )
    with database.write() as tx:
        import_region(tx, image, actor="test", now=SystemClock().now())
    yield database
    database.close()


@pytest.fixture
def app(database: Database) -> FastAPI:
    return create_app(title="Portal", version="1", database=database, clock=SystemClock(), routers=ROUTERS)


@pytest.fixture
def client(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.REQUESTER, owners=OWNERS)) as client:
        yield client


@pytest.fixture
def admin(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.ADMIN, "boss")) as client:
        yield client


@pytest.fixture
def assess_all(database: Database) -> Callable[[], None]:
    """Run the workers' assessments."""

    def run() -> None:
        with database.snapshot() as tx:
            waiting = list_unassessed(tx, job_kind="none", limit=100)
        for capacity_request_id, _ in waiting:
            AssessCapacityRequest(database, SystemClock(), capacity_request_id).reconcile()

    return run


def create(name: str = "web", spec: dict[str, object] | None = None, **more: object) -> dict[str, object]:
    return {
        "kind": "create",
        "region": "west",
        "reservation": name,
        "owner": "team",
        "spec": WEB if spec is None else spec,
        **more,
    }
