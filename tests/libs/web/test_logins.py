"""Requests with tokens of a real issuer on loopback, beside the platform's own tokens."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import structlog
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.identity.identity import Identity
from libs.observability.logs import configure_logging
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from libs.web.app import create_app
from libs.web.rates import Buckets, RateLimits
from libs.web.settings import IdentitySettings
from tests.builders.issuer import LoopbackIssuer
from tests.libs.identity.conftest import RingOnDemand, file_of
from tests.libs.web.conftest import Dock, bearer, ships


@pytest.fixture
def issuer() -> Iterator[LoopbackIssuer]:
    with LoopbackIssuer() as issuer:
        yield issuer


@pytest.fixture
def identity(issuer: LoopbackIssuer, tmp_path: Path) -> Iterator[Identity]:
    path = tmp_path / "issuers.yaml"
    path.write_text(file_of(issuer.url, more="    login: {client_id: cli}\n"))
    identity = Identity(path, make_ring=RingOnDemand)
    yield identity
    identity.stop()


def app_with(identity: Identity | None, database: Database, dock: Dock, rates: RateLimits | None = None) -> FastAPI:
    return create_app(
        title="Ships",
        version="1",
        database=database,
        clock=SystemClock(),
        routers=[ships(dock)],
        rates=rates,
        identity=identity,
    )


@pytest.fixture
def app(identity: Identity, database: Database, dock: Dock) -> FastAPI:
    return app_with(identity, database, dock)


def login(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_roles_follow_the_rules_at_each_request(anyone: TestClient, issuer: LoopbackIssuer, database: Database) -> None:
    for groups, viewing, launching, scrapping in (
        (["plimsoll-admins"], 200, 201, 204),
        (["capacity-ads"], 200, 201, 403),
        (["everybody"], 200, 403, 403),
        (["lunch"], 403, 403, 403),
    ):
        headers = login(issuer.token(groups=groups))
        assert anyone.get("/v1/ships", headers=headers).status_code == viewing
        assert anyone.post("/v1/ships", json={"name": "a"}, headers=headers).status_code == launching
        assert anyone.delete("/v1/ships/1", headers=headers).status_code == scrapping
    answer = anyone.get("/v1/ships", headers=headers).json()
    assert (answer["code"], "plimsoll whoami" in answer["detail"]) == ("no_role", True)
    assert anyone.get("/v1/ships", headers=bearer(database, Role.VIEWER)).status_code == 200


def test_a_token_that_is_not_valid_is_401_and_says_why(anyone: TestClient, issuer: LoopbackIssuer) -> None:
    answer = anyone.get("/v1/ships", headers=login(issuer.token(exp=1)))
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")
    assert "it has expired" in answer.json()["detail"]
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert anyone.get("/v1/whoami", headers=login(issuer.token(aud="x"))).status_code == 401
    assert anyone.get("/v1/whoami").status_code == 401


def test_without_an_issuers_file_a_jwt_is_an_unknown_token(
    database: Database, dock: Dock, issuer: LoopbackIssuer
) -> None:
    with TestClient(app_with(None, database, dock)) as client:
        assert client.get("/v1/ships", headers=login(issuer.token())).json()["code"] == "invalid_token"
        assert client.get("/v1/issuers").json() == {"items": []}


def test_whoami_of_a_login(anyone: TestClient, issuer: LoopbackIssuer) -> None:
    token = issuer.token("17", groups=["capacity-ads", "lunch"], email="rita@example.org")
    answer = anyone.get("/v1/whoami", headers=login(token))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    who = answer.json()
    assert (who["name"], who["person"], who["role"]) == ("corp|17", "corp|17", "requester")
    assert (who["owners"], who["token_id"]) == (["ads", "shared"], None)
    found = who["login"]
    assert found["claims"] == {"sub": ["17"], "groups": ["capacity-ads", "lunch"]}
    assert found["other_claims"] == ["aud", "email", "exp", "iat", "iss", "nbf"]
    assert [(rule["role"], rule["matches"], rule["owners"]) for rule in found["rules"]] == [
        ("admin", False, []),
        ("requester", True, ["ads", "shared"]),
        ("viewer", False, []),
    ]


def test_whoami_of_a_login_without_a_role_and_of_a_token(
    anyone: TestClient, issuer: LoopbackIssuer, database: Database
) -> None:
    who = anyone.get("/v1/whoami", headers=login(issuer.token())).json()
    assert (who["role"], who["login"]["claims"]["groups"]) == (None, [])
    who = anyone.get("/v1/whoami", headers=bearer(database, Role.REQUESTER, "ci", ["web"])).json()
    assert (who["name"], who["person"], who["role"], who["owners"], who["login"]) == (
        *("ci", "ci", "requester"),
        ["web"],
        None,
    )


def test_groups_that_entra_left_out(anyone: TestClient, issuer: LoopbackIssuer) -> None:
    headers = login(issuer.token(_claim_names={"groups": "src1"}, _claim_sources={"src1": {"endpoint": "https://g"}}))
    answer = anyone.get("/v1/ships", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "claims_left_out")
    assert "corp left the claim groups out" in answer.json()["detail"]
    assert "app roles" in answer.json()["detail"]
    assert anyone.get("/v1/whoami", headers=headers).json()["login"]["left_out"] == ["groups"]


def test_issuers_are_public_and_say_where_to_log_in(anyone: TestClient, issuer: LoopbackIssuer) -> None:
    [found] = anyone.get("/v1/issuers").json()["items"]
    assert found == {
        "name": "corp",
        "issuer": issuer.url,
        "client_id": "cli",
        "pages_client_id": None,
        "scopes": ["openid", "offline_access"],
        "audience": "plimsoll",
        "algorithms": ["RS256"],
    }


def test_an_idempotency_key_belongs_to_the_person(anyone: TestClient, issuer: LoopbackIssuer, dock: Dock) -> None:
    def launch(token: str) -> tuple[int, bool]:
        headers = {**login(token), "Idempotency-Key": "one"}
        answer = anyone.post("/v1/ships", json={"name": "a"}, headers=headers)
        return answer.json()["launches"], "Idempotency-Replayed" in answer.headers

    groups = ["plimsoll-admins"]
    assert launch(issuer.token("rita", groups=groups)) == (1, False)
    assert launch(issuer.token("rita", groups=groups, jti="a later token")) == (1, True)
    assert launch(issuer.token("otto", groups=groups)) == (2, False)


def test_one_person_has_one_rate_over_all_tokens(
    identity: Identity, database: Database, dock: Dock, issuer: LoopbackIssuer
) -> None:
    rates = RateLimits(tokens=Buckets(1e-9, 3), strangers=Buckets(1e-9, 3))
    with TestClient(app_with(identity, database, dock, rates)) as client:
        for number, status in enumerate([200, 200, 200, 429]):
            headers = login(issuer.token("rita", groups=["everybody"], jti=str(number)))
            assert client.get("/v1/ships", headers=headers).status_code == status
        headers = login(issuer.token("otto", groups=["everybody"]))
        assert client.get("/v1/ships", headers=headers).status_code == 200
        for status in (401, 401, 401, 429):  # tokens that are not valid are charged to their address
            assert client.get("/v1/ships", headers=login(issuer.token(exp=1))).status_code == status


def test_without_keys_a_login_is_503_and_tokens_go_on(
    issuer: LoopbackIssuer, tmp_path: Path, database: Database, dock: Dock
) -> None:
    issuer.answer["/keys"] = lambda: (500, {})
    path = tmp_path / "dead.yaml"
    path.write_text(file_of(issuer.url))
    identity = Identity(path, make_ring=RingOnDemand)
    with TestClient(app_with(identity, database, dock)) as client:
        answer = client.get("/v1/ships", headers=login(issuer.token(groups=["everybody"])))
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "2")
        assert client.get("/v1/ships", headers=bearer(database, Role.VIEWER)).status_code == 200


def test_logs_hold_neither_tokens_nor_claims(
    anyone: TestClient, issuer: LoopbackIssuer, capsys: pytest.CaptureFixture[str]
) -> None:
    before, handlers = structlog.get_config(), logging.getLogger().handlers
    configure_logging("test")
    try:
        tokens = [
            issuer.token("hidden-sub", groups=["everybody", "hidden-group"], email="hidden@example.org"),
            issuer.token("hidden-sub", aud="hidden-aud"),
            issuer.token("hidden-sub", exp=1),
            issuer.token("hidden-sub", header={"kid": "hidden-kid"}),
        ]
        for token in tokens:
            anyone.get("/v1/ships", headers=login(token))
        name = anyone.get("/v1/whoami", headers=login(tokens[0])).json()["log_name"]
        structlog.get_logger().info("pasted", text=f"I have {tokens[0]} here")
    finally:
        structlog.configure(**before)
        logging.getLogger().handlers = handlers
    logged = capsys.readouterr().err
    lines = [json.loads(line) for line in logged.splitlines()]
    done = [line for line in lines if line["event"] == "request.done"]
    assert [line["status"] for line in done] == [200, 401, 401, 401, 200]
    assert done[0]["principal"] == done[-1]["principal"] == name
    assert "hidden" not in logged
    assert not any(part in logged for token in tokens for part in token.split("."))


def test_a_process_starts_with_the_file_of_its_environment(
    issuer: LoopbackIssuer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "issuers.yaml"
    monkeypatch.setenv("PLIMSOLL_ISSUERS_FILE", str(path))
    path.write_text(file_of(issuer.url).replace("role: admin", "role: amdin"))
    with pytest.raises(SystemExit, match=r"issuers\.yaml: line 6: issuers\[0\]\.rules\[0\]\.role is amdin"):
        IdentitySettings().identity()
    path.write_text(file_of(issuer.url))
    identity = IdentitySettings().identity()
    assert identity is not None
    identity.stop()
    monkeypatch.setenv("PLIMSOLL_ISSUERS_FILE", "")
    assert IdentitySettings().identity() is None


def test_audit_entries_carry_the_person(database: Database) -> None:
    from libs.store.platform.audit import append, list_entries

    now = SystemClock().now()
    bearer(database, Role.OPERATOR, "own")
    bearer(database, Role.OPERATOR, "ritas")
    with database.write() as tx:
        tx.execute(sa.text("UPDATE tokens SET person = 'corp|rita' WHERE name = 'ritas'"))
        for actor in ("own", "ritas", "corp|rita", "solver"):
            append(tx, actor=actor, action="try", subject_kind="ship", subject_id=1, now=now)
    with database.snapshot() as tx:
        found = [entry.person for entry in list_entries(tx, subject_kind="ship").items]
        assert found == ["own", "corp|rita", "corp|rita", "solver"]
        of_rita = list_entries(tx, person="corp|rita").items
    assert [entry.actor for entry in of_rita] == ["ritas", "corp|rita"]
