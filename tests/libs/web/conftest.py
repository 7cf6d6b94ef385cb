"""Provide a small app on a real database to test libs/web alone."""

import threading
from collections.abc import Collection, Iterator
from typing import Annotated

import pytest
import structlog
from fastapi import APIRouter, Depends, Query
from fastapi.testclient import TestClient
from pydantic import Field

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.reconcile.errors import StaleGeneration
from libs.store.platform.database import Database
from libs.store.platform.tokens import create_token
from libs.web.app import create_app
from libs.web.auth import digest, new_secret, require
from libs.web.cursors import Paging, next_cursor
from libs.web.generations import ExpectedGeneration, etag
from libs.web.idempotency import Answer, Write
from libs.web.model import Flag, Number, PageOf, RequestModel, ResponseModel, SomeName, Time

# Without it structlog renders tracebacks with every local variable, in colours, for seconds.
structlog.configure(processors=[structlog.processors.JSONRenderer(default=str)])


class Sail(RequestModel):
    area_m2: Number = Field(gt=0, le=1000)


class Ship(RequestModel):
    name: str = Field(min_length=1)
    tonnage: Number = Field(default=1, ge=0)
    marks: dict[SomeName, Flag | Number | SomeName] = Field(default_factory=dict)
    launched_at: Time | None = None
    sails: dict[SomeName, Sail] = Field(default_factory=dict)


class Launched(ResponseModel):
    ship: str
    launches: int


class Dock:
    """Counts the effects that really happened, and can wait in the middle of one."""

    def __init__(self) -> None:
        self.launches = 0
        self.inside = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()


def ships(dock: Dock) -> APIRouter:
    router = APIRouter(prefix="/v1/ships", tags=["ships"])

    @router.post("", status_code=201, response_model=Launched, dependencies=[Depends(require(Role.REQUESTER))])
    def launch(body: Ship, write: Write):
        def effect(tx):
            dock.launches += 1
            dock.inside.set()
            assert dock.go_on.wait(240)
            if body.name == "wreck":
                raise RuntimeError("plim_AAAA sank at postgresql://me:hidden@sea/db")
            return Answer(201, Launched(ship=body.name, launches=dock.launches), etag(dock.launches))

        return write.once(effect)

    @router.get("")
    def list_ships(
        paging: Paging, tonnage: int | None = None, mast: Annotated[list[int] | None, Query()] = None
    ) -> PageOf[int]:
        first = (paging.after("ships") or 0) + 1
        items = list(range(first, min(first + paging.limit, 11)))
        return PageOf(items=items, next_cursor=next_cursor("ships", items[-1] if items[-1] < 10 else None))

    @router.patch("/{ship_id}", status_code=204)
    def rename(ship_id: int, body: Ship, expected: ExpectedGeneration) -> None:
        if expected != 7:
            raise StaleGeneration("ship", ship_id, expected=expected, found=7)

    @router.delete("/{ship_id}", dependencies=[Depends(require(Role.OPERATOR))], status_code=204)
    def scrap(ship_id: int) -> None:
        return None

    return router


@pytest.fixture
def dock() -> Dock:
    return Dock()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def app(database: Database, dock: Dock):
    return create_app(title="Ships", version="1", database=database, clock=SystemClock(), routers=[ships(dock)])


@pytest.fixture
def anyone(app) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


@pytest.fixture
def client(app, database: Database) -> Iterator[TestClient]:
    with TestClient(app, headers=bearer(database, Role.REQUESTER)) as client:
        yield client


def bearer(database: Database, role: Role, name: str = "tester", owners: Collection[str] = ()) -> dict[str, str]:
    secret = new_secret()
    with database.write() as tx:
        create_token(tx, name=name, role=role, secret_sha256=digest(secret), now=SystemClock().now(), owners=owners)
    return {"Authorization": f"Bearer {secret}"}
