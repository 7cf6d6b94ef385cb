import threading

import pytest
import sqlalchemy as sa
from fastapi import APIRouter, Response
from fastapi.testclient import TestClient
from pydantic import BaseModel

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database, Transaction
from libs.store.platform.idempotency import forget_keys
from libs.web import idempotency
from libs.web.app import create_app
from libs.web.idempotency import Answer, Write
from tests.libs.web.conftest import Dock, bearer

KEY = {"Idempotency-Key": "launch-1"}


def test_the_same_request_again_gets_the_saved_answer(client: TestClient, dock: Dock) -> None:
    first = client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    again = client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json() == {"ship": "Ark", "launches": 1}
    assert again.headers["etag"] == first.headers["etag"] == '"1"'
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert dock.launches == 1


def test_without_a_key_it_is_done_again(client: TestClient, dock: Dock) -> None:
    client.post("/v1/ships", json={"name": "Ark"})
    client.post("/v1/ships", json={"name": "Ark"})
    assert dock.launches == 2


def test_a_key_is_not_taken_for_another_request(client: TestClient, dock: Dock) -> None:
    client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    answer = client.post("/v1/ships", json={"name": "Boat"}, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    assert dock.launches == 1


def test_a_key_is_the_tokens_own(client: TestClient, database: Database, dock: Dock) -> None:
    client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    other = bearer(database, Role.REQUESTER, "another")
    assert client.post("/v1/ships", json={"name": "Boat"}, headers=KEY | other).status_code == 201


def test_a_failure_keeps_nothing_and_the_key_may_be_tried_again(client: TestClient, dock: Dock) -> None:
    assert client.post("/v1/ships", json={"name": "wreck"}, headers=KEY).status_code == 500
    answer = client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    assert answer.status_code == 201
    assert "idempotency-replayed" not in answer.headers


def test_two_at_once_are_done_once(client: TestClient, dock: Dock) -> None:
    dock.go_on.clear()
    answers = []

    def send() -> None:
        answers.append(client.post("/v1/ships", json={"name": "Ark"}, headers=KEY))

    threads = [threading.Thread(target=send) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert dock.inside.wait(240)  # one is in the middle; the other waits on the primary key, or has yet to come
    dock.go_on.set()
    for thread in threads:
        thread.join()
    assert [a.status_code for a in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert sorted("idempotency-replayed" in a.headers for a in answers) == [False, True]
    assert dock.launches == 1


def test_keys_are_bounded_and_forgotten_in_the_end(client: TestClient, database: Database, dock: Dock) -> None:
    for bad in ("", "a b", "x" * 201):
        answer = client.post("/v1/ships", json={"name": "Ark"}, headers={"Idempotency-Key": bad})
        assert answer.status_code == 422, bad
        assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    with database.write() as tx:
        assert forget_keys(tx, older_than_s=3600) == 0
    with database.write() as tx:
        assert forget_keys(tx, older_than_s=0) == 1
    assert client.post("/v1/ships", json={"name": "Boat"}, headers=KEY).status_code == 201


def test_a_large_answer_is_not_kept_and_the_write_still_done_once(
    client: TestClient, dock: Dock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client chooses the number of its keys per day, so the size of each is bounded."""
    monkeypatch.setattr(idempotency, "ANSWER_BYTES_MAX", 20)
    first = client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    assert (first.status_code, first.json()["ship"]) == (201, "Ark")
    again = client.post("/v1/ships", json={"name": "Ark"}, headers=KEY)
    assert (again.status_code, again.json()["code"]) == (409, "answer_not_kept")
    assert "answered 201" in again.json()["detail"]
    assert dock.launches == 1


class Depth(BaseModel):
    metres: float


def test_an_answer_that_cannot_be_sent_was_not_done(database: Database) -> None:
    """JSON has no NaN, so this answer cannot be sent. The error comes before the commit, not after it."""
    router = APIRouter(prefix="/v1/soundings")

    @router.post("")
    def sound(write: Write) -> Response:
        def effect(tx: Transaction) -> Answer:
            tx.execute(sa.text("CREATE TABLE soundings (id int)"))
            return Answer(200, Depth(metres=float("nan")))

        return write.once(effect)

    app = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[router])
    headers = bearer(database, Role.ADMIN)
    with TestClient(app, headers=headers, raise_server_exceptions=False) as client:
        answer = client.post("/v1/soundings")
    assert answer.status_code == 500
    assert "Nothing was changed" not in answer.text
    with database.snapshot() as tx:
        assert tx.execute(sa.text("SELECT to_regclass('soundings')")).scalar_one() is None
