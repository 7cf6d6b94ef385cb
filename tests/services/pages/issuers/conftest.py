"""An issuer on loopback, the API that takes its tokens, and a browser at the pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from libs.identity.identity import Identity
from libs.store.platform.database import Database
from tests.builders.issuer import LoopbackIssuer
from tests.libs.identity.conftest import RingOnDemand
from tests.services.pages.logins import CORP, HOST, api_of, pages_of, write_file


@pytest.fixture
def issuer() -> Iterator[LoopbackIssuer]:
    uris = {HOST + CORP}
    with LoopbackIssuer(clients={"pages": None}, redirect_uris=uris, groups=["plimsoll-admins"]) as issuer:
        yield issuer


@pytest.fixture
def file(issuer: LoopbackIssuer, tmp_path: Path) -> Path:
    file = tmp_path / "issuers.yaml"
    write_file(file, issuer)
    return file


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def identity(file: Path) -> Iterator[Identity]:
    identity = Identity(file, make_ring=RingOnDemand)
    yield identity
    identity.stop()


@pytest.fixture
def api(identity: Identity, database: Database) -> FastAPI:
    return api_of(identity, database)


@pytest.fixture
def browser(api: FastAPI) -> Iterator[TestClient]:
    with pages_of(api) as browser:
        yield browser
