"""Provide one platform for all tests of pages, and the pages over it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from services.pages.app import create_pages
from tests.builders.pages_world import PagesWorld, pages_world
from tests.fixtures.database import _database
from tests.services.pages.browser import SIZE, Visitor, chromium, find_chromium, serving


@pytest.fixture(scope="package")
def world(database_server: tuple[str, str], template_database: str) -> Iterator[PagesWorld]:
    """The platform, with its people. Tests that change it leave the names of others alone."""
    home = Path(tempfile.mkdtemp(prefix="plimsoll-pages-"))
    for url in _database(database_server, template_database):
        with pages_world(url, home) as made:
            yield made
    shutil.rmtree(home)


@pytest.fixture
def http(world: PagesWorld) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=world.platform.url, timeout=60) as client:
        yield client


@pytest.fixture
def anyone(world: PagesWorld, http: httpx.Client) -> Iterator[TestClient]:
    """A browser without a session, whose address is https."""
    app = create_pages(http, world.platform.clock)
    with TestClient(app, base_url="https://pages.example", follow_redirects=False) as client:
        client.headers["Sec-Fetch-Site"] = "same-origin"
        yield client


@pytest.fixture
def log_in(anyone: TestClient) -> Callable[[str], TestClient]:
    """Log in with a token, and return the browser."""

    def enter(token: str) -> TestClient:
        answer = anyone.post("/login", data={"token": token, "next": "/regions"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/regions"), answer.text
        return anyone

    return enter


@pytest.fixture(scope="module")  # it has a running event loop in this thread, which other tests cannot have
def browser() -> Iterator[Browser]:
    """The distribution's Chromium, once for all tests."""
    found = find_chromium()
    if found is None:
        pytest.skip("there is no Chromium (Debian: apt-get install chromium); PLIMSOLL_TEST_CHROMIUM names another one")
    with chromium(found) as started:
        yield started


@pytest.fixture(scope="package")
def pages_url(world: PagesWorld) -> Iterator[str]:
    with serving(world.platform.url, world.platform.clock) as url:
        yield url


@pytest.fixture
def visitor(browser: Browser, pages_url: str) -> Iterator[Visitor]:
    """A person with a browser. At the end, nothing must have gone wrong in it."""
    context = browser.new_context(viewport=SIZE)
    person = Visitor(context, pages_url)
    yield person
    context.close()
    assert person.wrongs == []
