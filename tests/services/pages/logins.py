"""People who log in at an issuer on loopback: their platform, and their steps at the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
from fastapi import FastAPI
from starlette.testclient import TestClient

from libs.identity.identity import Identity
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.pages.app import create_pages
from services.pages.issuers import Issuers
from services.pages.settings import CALLBACK
from services.portal.api import ROUTERS as PORTAL
from tests.builders.issuer import LoopbackIssuer
from tests.builders.one_process import listening
from tests.libs.identity.conftest import RULES, RingOnDemand

HOST = "https://pages.example"
CORP = f"{CALLBACK}/corp"
ATTEMPT, SESSION = "__Host-plimsoll-login", "__Host-plimsoll"

FILE = """issuers:
  - name: corp
    issuer: {url}
    audience: plimsoll
    login: {{client_id: cli, pages_client_id: pages, scopes: [openid, groups, offline_access]}}
    rules:{rules}
  - name: lab
    issuer: {url}/lab
    audience: plimsoll
    login: {{client_id: cli{lab}}}
    rules: [{{when: anyone, role: viewer}}]
"""


def write_file(file: Path, issuer: LoopbackIssuer, *, rules: str = RULES, lab: str = "") -> None:
    """Write the issuers' file. `lab` has further fields of the login at the second issuer."""
    file.write_text(FILE.format(url=issuer.url, rules=rules, lab=lab))


def api_of(identity: Identity, database: Database) -> FastAPI:
    """Return the API of portal and broker, which takes the tokens of the issuers."""
    return create_app(
        title="t",
        version="1",
        database=database,
        clock=SystemClock(),
        routers=[*PORTAL, *BROKER],
        identity=identity,
    )


@contextmanager
def login_platform(database: Database, home: Path, *, lab: str = "") -> Iterator[tuple[LoopbackIssuer, str]]:
    """Yield an issuer at which an admin logs in, and the address of the pages."""
    with LoopbackIssuer(clients={"pages": None}, groups=["plimsoll-admins"]) as issuer:
        write_file(home / "issuers.yaml", issuer, lab=lab)
        identity = Identity(home / "issuers.yaml", make_ring=RingOnDemand)
        with listening(api_of(identity, database)) as api, httpx.Client(base_url=api, timeout=60) as http:
            issuers = Issuers(http)
            with listening(create_pages(http, SystemClock(), issuers)) as url:
                issuers.callback = url + CALLBACK
                issuer.redirect_uris = {f"{url}{CALLBACK}/{name}" for name in ("corp", "lab")}
                yield issuer, url
        identity.stop()


@contextmanager
def pages_of(api: FastAPI, callback: str | None = HOST + CALLBACK, **secrets: str) -> Iterator[TestClient]:
    with TestClient(api) as client, httpx.Client(base_url=client.base_url, transport=client._transport) as http:
        app = create_pages(http, SystemClock(), Issuers(http, callback, secrets))
        with TestClient(app, base_url=HOST, follow_redirects=False) as browser:
            browser.headers["Sec-Fetch-Site"] = "same-origin"
            yield browser


def begin(browser: TestClient, back: str = "/tokens") -> str:
    """Return the address at the issuer."""
    answer = browser.get(f"/login/with/corp?next={quote(back, safe='')}")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def log_in(browser: TestClient, issuer: LoopbackIssuer, back: str = "/tokens") -> httpx.Response:
    return browser.get(issuer.let_in(begin(browser, back)))


def refused(browser: TestClient, answer: httpx.Response) -> str:
    """Return what the page says of a login that failed. It has left no session and no attempt."""
    assert answer.status_code in range(400, 504), answer.text
    assert 'role="alert"' in answer.text
    assert SESSION not in browser.cookies
    assert ATTEMPT not in browser.cookies
    return answer.text
