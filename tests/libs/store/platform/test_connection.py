"""Each thread has one connection, and none waits forever for a silent database."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.connection import PARAMETERS, BoundedConnection
from libs.store.platform.database import Database, raw
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.wakeups import Wakeups
from libs.web.app import create_app
from tests.fixtures.swallow import Swallow
from tests.libs.web.conftest import bearer

GIVEN_UP = "sent nothing for 2 s|connection timeout expired"
"""A bound of ours ended the wait, for an answer or for a new connection, and not the kernel's."""


@pytest.fixture
def swallow(database_url: str) -> Iterator[Swallow]:
    with Swallow(database_url) as proxy:
        yield proxy


@pytest.fixture
def far(swallow: Swallow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The database behind a proxy that can swallow data; a connection is given up after 2 s of silence."""
    monkeypatch.setattr(BoundedConnection, "silence_s_max", 2.0)
    database = Database(swallow.database_url, pool_size=3)
    yield database
    database.close()


@pytest.mark.parametrize("first", ["write", "snapshot"])
@pytest.mark.parametrize("second", ["write", "snapshot"])
def test_a_thread_holds_one_connection_at_a_time(database_url: str, first: str, second: str) -> None:
    database = Database(database_url)
    try:
        refused = pytest.raises(RuntimeError, match="has a transaction open")
        with getattr(database, first)(), refused, getattr(database, second)():
            pass
        with getattr(database, second)():
            pass
    finally:
        database.close()


def test_every_connection_is_bounded(database_url: str) -> None:
    """Also the listening connection, which is opened by hand."""
    database = Database(database_url)
    try:
        with database.write() as tx:
            shown = {
                name: tx.execute(sa.text(f"SHOW {name}")).scalar_one()
                for name in ("lock_timeout", "idle_in_transaction_session_timeout", "statement_timeout")
            }
            pooled = raw(tx)
        assert shown == {
            "lock_timeout": "30s",
            "idle_in_transaction_session_timeout": "30s",
            "statement_timeout": "5min",
        }
        with Wakeups(database_url, "any") as wakeups:
            for connection in (pooled, wakeups._connection):
                assert isinstance(connection, BoundedConnection)
                given = psycopg.conninfo.conninfo_to_dict(connection.info.dsn)
                assert {name: given[name] for name in ("tcp_user_timeout", "keepalives_idle")} == {
                    "tcp_user_timeout": "15000",
                    "keepalives_idle": "10",
                }
    finally:
        database.close()
    assert PARAMETERS["connect_timeout"] == 5


def test_a_silent_database_is_given_up_and_found_again(far: Database, swallow: Swallow) -> None:
    with far.snapshot() as tx:
        assert tx.execute(sa.text("SELECT 1")).scalar_one() == 1
    swallow.swallowing = True
    with pytest.raises(UNAVAILABLE, match=GIVEN_UP), far.snapshot() as tx:
        tx.execute(sa.text("SELECT 1"))
    swallow.swallowing = False
    swallow.drop()
    with far.snapshot() as tx:
        assert tx.execute(sa.text("SELECT 1")).scalar_one() == 1
    assert far.pool_use()[0] == 0


def test_a_commit_that_is_never_answered_is_given_up(far: Database, swallow: Swallow) -> None:
    def commit() -> None:
        with far.write() as tx:
            tx.execute(sa.text("SELECT 1"))
            swallow.swallowing = True

    with pytest.raises(UNAVAILABLE, match=GIVEN_UP):
        commit()


def test_the_api_answers_503_while_the_database_says_nothing(
    far: Database, swallow: Swallow, database_url: str
) -> None:
    near = Database(database_url)
    headers = bearer(near, Role.VIEWER)
    near.close()
    app = create_app(title="Far", version="1", database=far, clock=SystemClock(), routers=[])
    with TestClient(app, headers=headers) as client:
        assert client.get("/v1/nothing").status_code == 404
        swallow.swallowing = True
        answers: list[int] = []
        asking = [
            threading.Thread(target=lambda: answers.append(client.get("/v1/nothing").status_code)) for _ in "1234"
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert answers == [503] * 4
