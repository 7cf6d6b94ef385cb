"""No secret appears in an error, a log or the audit trail, wherever it was sent."""

import io
import logging
from collections.abc import Iterator

import pytest
import structlog
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.observability.logs import configure_logging
from libs.reconcile.clock import SystemClock
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.broker.api import ROUTERS as BROKER
from services.portal.api import ROUTERS as PORTAL
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import create, database  # noqa: F401 - a fixture


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root, stream = logging.getLogger(), io.StringIO()
    before, level, processors = root.handlers[:], root.level, structlog.get_config()
    configure_logging("test", level="DEBUG", stream=stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**processors)


@pytest.fixture
def app(database: Database) -> FastAPI:  # noqa: F811
    routers = [*PORTAL, *BROKER]
    return create_app(title="Plimsoll", version="1", database=database, clock=SystemClock(), routers=routers)


def test_a_secret_stays_with_whoever_sent_it(app: FastAPI, database: Database, log: io.StringIO, monkeypatch) -> None:  # noqa: F811
    header = bearer(database, Role.ADMIN, "boss")
    own = header["Authorization"].removeprefix("Bearer ")
    with TestClient(app, headers=header, raise_server_exceptions=False) as admin:
        made = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"}).json()
        match = {"If-Match": f'"{made["generation"]}"'}
        rotated = admin.post(f"/v1/tokens/{made['token_id']}/rotate", json={}, headers=match).json()
        secrets = [own, made["secret"], rotated["secret"]]
        answers = [admin.get("/v1/tokens"), admin.get(f"/v1/tokens/{made['token_id']}")]
        for secret in secrets:
            answers += [
                admin.get(f"/v1/reservations?token={secret}"),
                admin.get(f"/v1/{secret}"),
                admin.get(f"/v1/reservations?{secret}=1"),
                admin.get("/v1/reservations", headers={"Authorization": f"Basic {secret}"}),
                admin.get("/v1/reservations", headers={"X-Request-Id": secret, "Idempotency-Key": secret}),
                admin.get("/v1/regions/west", headers={"Authorization": f"Bearer {secret}x"}),
                admin.post("/v1/tokens", json={"name": "x", "role": "viewer", "secret": secret}),
                admin.post("/v1/tokens", content=f'{{"secret": "{secret}"'),
                admin.delete("/v1/quotas/west/team", headers={"If-Match": f'"{secret}"'}),
            ]
        monkeypatch.setattr("services.portal.api.tokens.create_token", broken(own))
        answers.append(admin.post("/v1/tokens", json={"name": "broken", "role": "viewer"}))
        assert answers[-1].status_code == 500
        admin.post("/v1/capacity-requests", json=create(reason="no secret here"))
    logged = log.getvalue()
    assert '"event": "request.failed"' in logged
    with database.snapshot() as tx:
        trail = str(list_entries(tx, limit=1000).items)
    for secret in secrets:
        assert secret not in logged
        assert secret not in trail
        for answer in answers:
            told = answer.text + str(dict(answer.headers.items()))
            assert secret not in told, (answer.request.method, answer.request.url.path, answer.status_code)


def broken(secret: str):
    def raise_it(*arguments: object, **keywords: object) -> None:
        raise RuntimeError(f"cannot store {secret}")

    return raise_it
