"""A client that asks too fast learns when to come back, and does not delay others."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.platform.sessions import start_session
from libs.store.platform.tokens import load_principal
from libs.web import logins, rates
from libs.web.app import create_app
from libs.web.rates import Buckets, RateLimits, network_of
from tests.libs.web.conftest import Dock, bearer, ships


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        ("unknown", "unknown"),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, key: str) -> None:
    assert network_of(address) == key


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def app(database: Database, dock: Dock, seconds: Seconds) -> FastAPI:
    limits = RateLimits(
        tokens=Buckets(2.0, 3, seconds=seconds),
        strangers=Buckets(0.5, 2, seconds=seconds),
    )
    clock = SystemClock()
    return create_app(title="t", version="1", database=database, clock=clock, routers=[ships(dock)], rates=limits)


@pytest.fixture
def anyone(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app) as client:
        yield client


def statuses(client: TestClient, times: int, url: str = "/v1/ships", **request: object) -> list[int]:
    return [client.get(url, **request).status_code for _ in range(times)]


def test_each_token_has_its_own_bucket(anyone: TestClient, database: Database, seconds: Seconds) -> None:
    one, other = bearer(database, Role.VIEWER, "one"), bearer(database, Role.VIEWER, "other")
    assert statuses(anyone, 4, headers=one) == [200, 200, 200, 429]
    assert statuses(anyone, 1, headers=other) == [200]
    refused = anyone.get("/v1/ships", headers=one)
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("rate_limited", "1")
    assert refused.headers["x-request-id"]
    seconds.now += 1.0
    assert statuses(anyone, 3, headers=one) == [200, 200, 429]
    seconds.now += 1000.0
    assert statuses(anyone, 4, headers=one) == [200, 200, 200, 429], "a bucket holds no more than its burst"


def test_who_is_refused_costs_the_database_nothing(anyone: TestClient, database: Database, monkeypatch) -> None:
    known, asked = bearer(database, Role.VIEWER, "known"), []
    load = logins.load_principal

    def counted(*arguments: object) -> object:
        asked.append(arguments)
        return load(*arguments)

    monkeypatch.setattr(logins, "load_principal", counted)
    assert statuses(anyone, 9, headers=known) == [200] * 3 + [429] * 6
    assert len(asked) == 3


def test_strangers_of_one_ipv6_network_share_their_bucket(app: FastAPI) -> None:
    def ask(address: str) -> int:
        return TestClient(app, client=(address, 5)).get("/v1/ships").status_code

    assert [ask(f"2001:db8:0:1::{at}") for at in range(3)] == [401, 401, 429]
    assert ask("2001:db8:0:2::1") == 401


def test_strangers_share_their_address_and_hold_up_nobody_else(anyone, database: Database, monkeypatch) -> None:
    known = bearer(database, Role.VIEWER, "known")
    assert statuses(anyone, 1, headers=known) == [200]
    wrong = {"Authorization": "Bearer plim_wrong"}
    assert [anyone.get("/v1/ships").status_code, *statuses(anyone, 2, headers=wrong)] == [401, 401, 429]
    assert statuses(anyone, 1, url="/openapi.json") == [429]
    assert statuses(anyone, 30, url="/healthz") == [200] * 30
    assert statuses(anyone, 1, url="/readyz") == [200]
    assert statuses(anyone, 1, headers=known) == [200]
    monkeypatch.setattr(database, "snapshot", None)  # an empty bucket is answered without the database
    assert anyone.get("/v1/ships", headers=wrong).headers["retry-after"] == "2"


def test_buckets_are_bounded(seconds: Seconds, monkeypatch) -> None:
    monkeypatch.setattr(rates, "KEYS_MAX", 3)
    buckets = Buckets(1.0, 1, seconds=seconds)
    for key in range(5):
        assert buckets.take(key) == 0
    assert [buckets.wait_s(key) for key in range(5)] == [0, 0, 1, 1, 1], "a dropped one is full when it comes back"
    assert buckets.take(4) == buckets.wait_s(4) == 1.0


def test_accepted_bearers_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(rates, "KEYS_MAX", 2)
    accepted = rates.Accepted()
    for number in range(3):
        accepted.add(bytes([number]), number + 10)
    accepted.discard(bytes([2]))
    assert [accepted.client(bytes([number])) for number in range(3)] == [None, 11, None]


def test_a_token_and_its_sessions_have_one_rate(anyone: TestClient, database: Database) -> None:
    token = bearer(database, Role.VIEWER, "one")
    sent = logins.digest(token["Authorization"].split()[1])
    sessions = []
    with database.write() as tx:
        token_id = load_principal(tx, sent).token_id
        for _ in range(3):
            secret = logins.new_session_secret()
            start_session(tx, token_id, token_sha256=sent, secret_sha256=logins.digest(secret))
            sessions.append({"Authorization": f"Bearer {secret}"})
    found = [anyone.get("/v1/ships", headers=one).status_code for one in (*sessions, token)]
    assert found == [200, 200, 200, 429]
