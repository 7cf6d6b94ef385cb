"""A stranger who sends bad cookies does not hold up other people."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.database import Database
from libs.web.app import create_app
from libs.web.rates import RateSettings
from services.pages import known_sessions
from services.pages.app import create_pages
from services.pages.known_sessions import TRIES_BURST
from services.portal.api import ROUTERS
from tests.builders.clock import ManualClock
from tests.libs.web.conftest import bearer

BAD = {"Cookie": "plimsoll=plim_session_x", "Content-Length": "0"}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def pages(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The pages over an API with the rates that it has by default. All visitors come to it from one address.

    A slow machine would refill the buckets of the pages during a test, so they stay as they are.
    """
    monkeypatch.setattr(known_sessions, "TRIES_PER_S", 1e-9)
    clock = ManualClock()
    app = create_app(
        title="t", version="1", database=database, clock=clock, routers=list(ROUTERS), rates=RateSettings().limits()
    )
    with TestClient(app) as api:
        yield create_pages(api, clock)


def visitor(pages, address: str) -> TestClient:
    return TestClient(pages, follow_redirects=False, client=(address, 1), headers={"Sec-Fetch-Site": "same-origin"})


@pytest.mark.parametrize(("method", "path"), [("GET", "/regions"), ("GET", "/login"), ("POST", "/logout")])
def test_bad_cookies_are_counted_by_the_address_of_the_visitor(pages, database, method, path):
    secret = bearer(database, Role.OPERATOR, "olga")["Authorization"].split()[1]
    stranger, person = visitor(pages, "10.9.9.9"), visitor(pages, "10.1.1.1")
    for _ in range(80):
        stranger.request(method, path, headers=BAD)
    refused = stranger.get("/regions", headers=BAD)
    assert (refused.status_code, "Try again in" in refused.text) == (429, True)
    answer = person.post("/login", data={"token": secret, "next": "/"})
    assert answer.status_code == 303, answer.text


def test_a_person_behind_the_address_of_a_stranger_stays_in(pages, database):
    secret = bearer(database, Role.OPERATOR, "olga")["Authorization"].split()[1]
    person, stranger = visitor(pages, "10.9.9.9"), visitor(pages, "10.9.9.9")
    assert person.post("/login", data={"token": secret, "next": "/"}).status_code == 303
    for _ in range(TRIES_BURST + 5):
        stranger.get("/regions", headers=BAD)
    assert stranger.get("/regions", headers=BAD).status_code == 429
    assert person.get("/tokens").status_code == 403, "known, and no admin"
    person.post("/logout", headers={"Content-Length": "0"})
    assert person.get("/tokens").status_code == 303
