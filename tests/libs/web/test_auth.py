import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from libs.domain.principal import Role
from libs.observability.logs import HIDDEN
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.store.platform.health import check_database
from libs.store.platform.migrate import newest_revision
from libs.store.platform.tokens import list_tokens, revoke_token
from tests.libs.web.conftest import bearer


def test_without_a_token_nothing_is_routed_and_no_body_is_read(anyone: TestClient) -> None:
    for headers in ({}, {"Authorization": "Basic abc"}, {"Authorization": "Bearer"}):
        for answer in (
            anyone.get("/v1/ships", headers=headers),
            anyone.get("/v1/nowhere", headers=headers),
            anyone.post("/v1/ships", content=b"no json", headers=headers),
        ):
            assert answer.status_code == 401
            assert answer.json()["code"] == "unauthenticated"
            assert "Authorization: Bearer" in answer.json()["detail"]
            assert HIDDEN not in answer.json()["detail"], "advice is no secret"
            assert answer.headers["www-authenticate"] == 'Bearer realm="plimsoll"'
            assert answer.headers["x-request-id"]


def test_a_token_that_is_unknown_or_revoked(anyone: TestClient, database: Database) -> None:
    for secret in ("plim_wrong", "\xff\xfe"):
        answer = anyone.get("/v1/ships", headers={"Authorization": f"Bearer {secret}".encode("latin-1")})
        assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    headers = bearer(database, Role.VIEWER)
    assert anyone.get("/v1/ships", headers=headers).status_code == 200
    with database.write() as tx:
        (token,) = list_tokens(tx, after=None, limit=10).items
        assert revoke_token(tx, token.token_id, now=SystemClock().now())
    answer = anyone.get("/v1/ships", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_role_includes_those_below_it(anyone: TestClient, database: Database) -> None:
    may_scrap = {}
    for role in Role:
        answer = anyone.delete("/v1/ships/1", headers=bearer(database, role, role.value))
        may_scrap[role] = answer.status_code
        if answer.status_code == 403:
            assert answer.json()["code"] == "forbidden"
            assert answer.json()["required_role"] == "operator"
    assert {role for role, status in may_scrap.items() if status == 204} == {Role.OPERATOR, Role.ADMIN}


def test_health_and_the_api_document_are_public_and_metrics_are_not(anyone: TestClient, database: Database) -> None:
    assert anyone.get("/healthz").json() == {"status": "ok"}
    assert anyone.get("/readyz").json() == {"status": "ok"}
    assert anyone.get("/openapi.json").status_code == 200
    anyone.get("/v1/ships/123")
    assert anyone.get("/metrics").status_code == 401
    text = anyone.get("/metrics", headers=bearer(database, Role.VIEWER, "prometheus")).text
    assert 'plimsoll_http_requests_total{code="",method="GET",route="/healthz",status="200"}' in text
    assert "/v1/ships/123" not in text
    assert "plimsoll_http_request_seconds_bucket" in text


def test_a_database_without_the_schema_is_not_ready(empty_database_url: str) -> None:
    from libs.web.app import create_app

    for url, why in ((empty_database_url, "not migrated"), ("postgresql://127.0.0.1:1/none", "cannot be reached")):
        database = Database(url)
        app = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[])
        with TestClient(app) as client:
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert why in answer.json()["detail"]
            assert client.get("/healthz").status_code == 200
        database.close()


def test_an_older_schema_is_not_ready_and_a_newer_one_is(database: Database) -> None:
    def set_version(number: str) -> None:
        with database.write() as tx:
            tx.execute(sa.text("UPDATE alembic_version SET version_num = :number"), {"number": number})

    assert check_database(database) is None
    set_version("0001")
    assert check_database(database) == (
        f"the database is not migrated: it has the schema 0001, and this version needs {newest_revision()}"
    )
    set_version("9999")
    assert check_database(database) is None, "processes of the previous version run on during an upgrade"


def test_a_database_that_is_gone_is_503_and_not_500() -> None:
    from libs.web.app import create_app

    database = Database("postgresql://127.0.0.1:1/none")
    app = create_app(title="t", version="1", database=database, clock=SystemClock(), routers=[])
    with TestClient(app) as client:
        answer = client.get("/v1/x", headers={"Authorization": "Bearer plim_x"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    database.close()


def test_a_websocket_is_closed_and_is_no_mistake_of_ours(anyone: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, anyone.websocket_connect("/v1/ships"):
        pass
    assert closed.value.code == 1008
