"""Test the ends of sessions that come with their token, and the bound on their number."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform import sessions
from libs.store.platform.database import Database
from libs.web.app import create_app
from libs.web.auth import digest
from services.portal.api import ROUTERS
from tests.builders.clock import ManualClock
from tests.libs.web.conftest import bearer


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    app = create_app(title="t", version="1", database=database, clock=ManualClock(), routers=list(ROUTERS))
    with TestClient(app, headers=bearer(database, Role.ADMIN, "root")) as client:
        yield client


def start(client: TestClient) -> dict[str, str]:
    made = client.post("/v1/sessions")
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['secret']}"}


def status(client: TestClient, headers: dict[str, str]) -> int:
    return client.get("/v1/whoami", headers=headers).status_code


def rotate(client: TestClient, grace_s: int) -> dict[str, str]:
    path = f"/v1/tokens/{client.get('/v1/whoami').json()['token_id']}"
    match = {"If-Match": client.get(path).headers["etag"]}
    made = client.post(f"{path}/rotate", json={"grace_s": grace_s}, headers=match)
    assert made.status_code == 200, made.text
    return {"Authorization": f"Bearer {made.json()['secret']}"}


def test_a_rotation_without_grace_ends_the_sessions_of_a_thief(client, database):
    stolen = start(client)
    client.headers.update(rotate(client, grace_s=0))
    assert status(client, stolen) == 401
    fresh = start(client)
    assert status(client, fresh) == 200
    with database.write() as tx:
        assert sessions.forget_sessions(tx) == 1
    assert status(client, fresh) == 200


def test_sessions_from_before_the_end_of_a_grace_end_with_it(client, database):
    before = start(client)
    rotate(client, grace_s=3600)
    during = start(client)
    assert (status(client, before), status(client, during)) == (200, 200)
    with database.write() as tx:
        tx.exec_driver_sql("UPDATE tokens SET previous_until = clock_timestamp() WHERE previous_until IS NOT NULL")
    assert (status(client, before), status(client, during)) == (401, 401)


def test_a_request_under_way_during_a_rotation_starts_no_session(client, database):
    """It was authenticated before, and comes to its write after."""
    old = digest(client.headers["Authorization"].split()[1])
    token_id = client.get("/v1/whoami").json()["token_id"]
    rotate(client, grace_s=0)
    with database.write() as tx:
        assert sessions.start_session(tx, token_id, token_sha256=old, secret_sha256=b"s" * 32) is None


def test_a_token_has_a_bounded_number_of_sessions(client, monkeypatch):
    monkeypatch.setattr(sessions, "SESSIONS_MAX", 3)
    made = [start(client) for _ in range(5)]
    assert [status(client, one) for one in made] == [401, 401, 200, 200, 200]
