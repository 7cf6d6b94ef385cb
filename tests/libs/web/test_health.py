"""Probes are cheap, and wait for nothing that a request waits for."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest
from anyio.to_thread import current_default_thread_limiter
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web import health
from libs.web.app import create_app
from tests.libs.web.conftest import Dock, bearer, ships


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    app = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[])
    with TestClient(app) as client:
        yield client


def test_the_document_is_made_before_the_first_request_and_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[])
    monkeypatch.setattr("libs.web.openapi.get_openapi", lambda **_: pytest.fail("made again"))
    with TestClient(app) as client:
        assert client.get("/openapi.json").json()["info"]["title"] == "t"
        assert client.get("/readyz").status_code == HTTPStatus.OK
        assert client.get("/readyz?x=1").status_code == HTTPStatus.UNPROCESSABLE_ENTITY


def test_however_many_ask_at_once_the_database_is_asked_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = [], threading.Event()

    def check(database: Database) -> None:
        asked.append(database)
        go_on.wait(240)

    monkeypatch.setattr(health, "check_database", check)
    with ThreadPoolExecutor(20) as many:
        answers = [many.submit(client.get, "/readyz") for _ in range(20)]
        while not asked:
            pass
        assert client.get("/healthz").status_code == HTTPStatus.OK
        go_on.set()
        assert {answer.result().status_code for answer in answers} == {HTTPStatus.OK}
    assert len(asked) == 1


def test_a_database_that_does_not_answer_is_not_ready(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(health, "check_database", lambda database: go_on.wait(240) and None)
    monkeypatch.setattr(health, "_WAIT_S_MAX", 0.1)
    try:
        answer = client.get("/readyz")
    finally:
        go_on.set()
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "has not answered" in answer.json()["detail"]


def test_probes_answer_while_every_thread_and_connection_is_taken(
    dock: Dock, database: Database, database_url: str
) -> None:
    small = Database(database_url, pool_size=1)
    app = create_app(title="t", version="1", database=small, clock=SystemClock(), routers=[ships(dock)])
    writer = bearer(database, Role.REQUESTER)
    dock.go_on.clear()
    with TestClient(app) as client, ThreadPoolExecutor(3) as many:

        async def one_thread() -> None:
            current_default_thread_limiter().total_tokens = 1

        client.portal.call(one_thread)
        held = many.submit(client.post, "/v1/ships", json={"name": "a"}, headers=writer)
        assert dock.inside.wait(240)
        try:
            for path in ("/healthz", "/readyz"):
                assert many.submit(client.get, path).result(15).status_code == HTTPStatus.OK
        finally:
            dock.go_on.set()
        assert held.result().status_code == HTTPStatus.CREATED
    small.close()


def test_the_reference_needs_no_token_no_script_and_no_other_host(client: TestClient) -> None:
    page = client.get("/docs")
    assert (page.status_code, page.headers["Content-Type"]) == (HTTPStatus.OK, "text/html; charset=utf-8")
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "GET /readyz" in page.text
    assert not any(word in page.text for word in ("<script", "http://", "https://"))
    for path in ("/", "/v1"):
        assert client.get(path).json()["reference"] == "/docs"
