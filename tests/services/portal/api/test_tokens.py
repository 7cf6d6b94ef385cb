import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform.audit import list_entries
from libs.store.platform.database import Database
from libs.store.platform.tokens import list_tokens, load_principal, revoke_token
from libs.web.auth import digest
from services.portal.admin_token import ensure_admin_token
from tests.services.portal.conftest import WEB, create

UNSET = {"If-Match": '"0"'}


def test_a_token_is_shown_once_used_and_revoked(app, admin: TestClient, client: TestClient) -> None:
    made = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert secret.startswith("plim_")
    assert made.headers["cache-control"] == "no-store"
    listed = admin.get("/v1/tokens?limit=1000").json()["items"]
    assert [token["name"] for token in listed] == ["boss", "tester", "ci"]
    assert secret not in admin.get("/v1/tokens").text
    header = {"Authorization": f"Bearer {secret}"}
    with TestClient(app, headers=header) as viewer:
        assert viewer.get("/v1/reservations").status_code == 200
        assert viewer.post("/v1/tokens", json={"name": "x", "role": "admin"}).status_code == 403
        assert viewer.get("/v1/tokens").status_code == 403
        for _ in range(2):
            gone = admin.delete(f"/v1/tokens/{made.json()['token_id']}")
            assert (gone.status_code, bool(gone.json()["revoked_at"])) == (200, True)
        assert viewer.get("/v1/reservations").status_code == 401
    taken = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"})
    assert (taken.status_code, taken.json()["errors"][0]["field"]) == (409, "name")
    wrong = admin.post("/v1/tokens", json={"name": "y", "role": "king"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "role")


def test_setup_makes_the_first_admin_once(app, database: Database, tmp_path: Path, caplog, capsys) -> None:
    path, now = tmp_path / "state" / "admin-token", SystemClock().now()

    def ensure() -> bool:
        with database.write() as tx:
            return ensure_admin_token(tx, path, now=now)

    before = os.umask(0)
    try:
        assert ensure() is True
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret = path.read_text().strip()
    assert ensure() is False
    assert path.read_text().strip() == secret
    with TestClient(app, headers={"Authorization": f"Bearer {secret}"}) as first:
        assert [t["name"] for t in first.get("/v1/tokens").json()["items"]] == ["first-admin"]
    path.write_text("plim_lost\n")
    assert ensure() is True
    assert path.read_text().strip() not in (secret, "plim_lost")
    assert [p.name for p in path.parent.iterdir()] == ["admin-token"]
    printed = capsys.readouterr()
    assert secret not in caplog.text + printed.out + printed.err


def test_a_token_whose_file_was_never_written_is_not_kept(database: Database, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="file"), database.write() as tx:
        ensure_admin_token(tx, blocked / "admin-token", now=SystemClock().now())
    with database.write() as tx:
        assert list_tokens(tx, after=None, limit=10).items == ()
        assert not revoke_token(tx, 1, now=SystemClock().now())


def test_an_operator_may_bring_the_first_token(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "admin-token"
    monkeypatch.setattr("os.access", lambda folder, mode: False)  # a Secret is mounted read-only; root may write all

    def ensure(secret: str) -> bool:
        path.write_text(secret + "\n")
        with database.write() as tx:
            made = ensure_admin_token(tx, path, now=SystemClock().now())
        assert path.read_text() == secret + "\n"
        return made

    def role(secret: str) -> Role | None:
        with database.write() as tx:
            principal = load_principal(tx, digest(secret))
        return None if principal is None else principal.role

    brought, other = "plim_" + "a" * 43, "plim_" + "b" * 43
    assert ensure("plim_short") is False
    assert ensure(brought) is True
    assert ensure(brought) is False
    assert role(brought) is Role.ADMIN
    assert ensure(other) is False
    assert role(other) is None, "the database has a token, so whoever has one makes the next"


def holder(app, secret: str) -> TestClient:
    return TestClient(app, headers={"Authorization": f"Bearer {secret}"})


def test_a_requester_asks_for_its_owners_only(app, database, admin, client, assess_all) -> None:
    assert client.post("/v1/capacity-requests", json=create()).status_code == 201
    assess_all()
    [web] = client.get("/v1/reservations?name=web").json()["items"]
    url, match = f"/v1/reservations/{web['reservation_id']}", {"If-Match": f'"{web["generation"]}"'}
    waiting = client.post("/v1/capacity-requests", json=create("more"))
    made = admin.post("/v1/tokens", json={"name": "ads", "role": "requester"}).json()
    with holder(app, made["secret"]) as ads:
        assert ads.get(url).status_code == 200
        refused = [
            ads.post("/v1/capacity-requests", json=create("other")),
            ads.post("/v1/capacity-requests?dry_run=true", json=create("other")),
            ads.post("/v1/reservations", json={"region": "west", "name": "x", "owner": "team", "spec": WEB}),
            ads.patch(url, json={"spec": {"capacity_rru": 7}}, headers=match),
            ads.patch(url + "?dry_run=true", json={"spec": {"capacity_rru": 7}}, headers=match),
            ads.delete(url, headers=match),
            ads.delete(waiting.headers["location"], headers={"If-Match": waiting.headers["etag"]}),
        ]
        for answer in refused:
            assert (answer.status_code, answer.json()["code"]) == (403, "not_an_owner"), answer.text
            assert (answer.json()["owner"], answer.json()["owners"]) == ("team", [])
            assert "plimsoll token owners" in answer.json()["detail"]
        token = f"/v1/tokens/{made['token_id']}"
        assert admin.patch(token, json={"owners": ["team"]}, headers={"If-Match": '"9"'}).status_code == 409
        patched = admin.patch(token, json={"owners": ["team", "ads", "ads"]}, headers={"If-Match": '"1"'})
        assert patched.json()["owners"] == ["ads", "team"]
        assert ads.delete(url, headers=match).status_code == 200
    with database.snapshot() as tx:
        trail = list_entries(tx, subject_kind="token", subject_id=made["token_id"]).items
    assert [(entry.action, entry.actor) for entry in trail] == [("create", "boss"), ("set_owners", "boss")]
    assert (trail[1].before["owners"], trail[1].after["owners"]) == ([], ["ads", "team"])
    viewer = admin.post("/v1/tokens", json={"name": "v", "role": "viewer", "owners": ["team"]})
    assert (viewer.status_code, viewer.json()["errors"][0]["field"]) == (422, "owners")


def test_any_owner_that_has_a_token_or_a_quota_may_have_reservations(app, admin: TestClient, assess_all) -> None:
    """Groups of issuers and owners of imported regions have names with blanks."""
    owner = "CN=Search & Ads, Team " + "x" * 150
    assert admin.put(f"/v1/quotas/west/{owner}", json={"limit_cost_units": 100}, headers=UNSET).status_code == 200
    made = admin.post("/v1/tokens", json={"name": "search", "role": "requester", "owners": [owner]}).json()
    with holder(app, made["secret"]) as search:
        assert search.post("/v1/capacity-requests", json=create("index", owner=owner)).status_code == 201
        body = {"region": "west", "name": "crawl", "owner": owner, "spec": WEB}
        assert search.post("/v1/reservations", json=body).status_code == 202
        assess_all()
        held = search.get("/v1/reservations", params={"owner": owner}).json()["items"]
        assert {one["name"] for one in held} == {"index", "crawl"}
    for wrong in (" ", "two\nlines", "y" * 201):
        token = admin.post("/v1/tokens", json={"name": "other", "role": "requester", "owners": [wrong]})
        asked = admin.post("/v1/capacity-requests", json=create("other", owner=wrong))
        assert [one.json()["errors"][0]["field"] for one in (token, asked)] == ["owners.0", "owner"]


def test_operators_act_for_anybody(app, admin: TestClient) -> None:
    made = admin.post("/v1/tokens", json={"name": "op", "role": "operator"}).json()
    with holder(app, made["secret"]) as operator:
        assert operator.post("/v1/capacity-requests", json=create(owner="anybody")).status_code == 201


def test_a_rotation_leaves_the_old_secret_for_a_while(app, admin: TestClient, database: Database) -> None:
    made = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"}).json()
    url = f"/v1/tokens/{made['token_id']}/rotate"
    assert admin.post(url, json={}).status_code == 428
    assert admin.post(url, json={"grace_s": 10**9}, headers={"If-Match": '"1"'}).status_code == 422
    first = admin.post(url, json={}, headers={"If-Match": '"1"'})
    assert first.headers["cache-control"] == "no-store"
    assert admin.post(url, json={}, headers={"If-Match": '"1"'}).json()["code"] == "stale_generation"

    def opens(secret: str, after: timedelta = timedelta()) -> bool:
        with database.write() as tx:
            tx.execute(sa.text("UPDATE tokens SET previous_until = previous_until - :after"), {"after": after})
            found = load_principal(tx, digest(secret)) is not None
            tx.rollback()
        return found

    old, new = made["secret"], first.json()["secret"]
    assert (opens(old), opens(new)) == (True, True)
    assert (opens(old, timedelta(hours=2)), opens(new, timedelta(hours=2))) == (False, True)
    second = admin.post(url, json={"grace_s": 0}, headers={"If-Match": first.headers["etag"]}).json()["secret"]
    assert (opens(old), opens(new), opens(second)) == (False, False, True)
    gone = admin.delete(f"/v1/tokens/{made['token_id']}").json()
    assert not opens(second)
    late = admin.post(url, json={}, headers={"If-Match": f'"{gone["generation"]}"'})
    assert (late.status_code, late.json()["code"]) == (409, "wrong_phase")


def test_nobody_is_locked_out(app, admin: TestClient) -> None:
    [boss] = [t for t in admin.get("/v1/tokens").json()["items"] if t["name"] == "boss"]
    last = admin.delete(f"/v1/tokens/{boss['token_id']}")
    assert (last.status_code, last.json()["code"]) == (409, "last_admin")
    second = admin.post("/v1/tokens", json={"name": "second", "role": "admin"}).json()
    own = admin.delete(f"/v1/tokens/{boss['token_id']}")
    assert (own.status_code, own.json()["code"]) == (409, "own_token")
    with holder(app, second["secret"]) as other:
        assert other.delete(f"/v1/tokens/{boss['token_id']}").status_code == 200
        assert other.delete(f"/v1/tokens/{second['token_id']}").json()["code"] == "last_admin"


def test_two_admins_that_revoke_each_other_leave_one(app, admin: TestClient) -> None:
    [boss] = [t for t in admin.get("/v1/tokens").json()["items"] if t["name"] == "boss"]
    second = admin.post("/v1/tokens", json={"name": "second", "role": "admin"}).json()
    with holder(app, second["secret"]) as other:
        asks = [(admin, second["token_id"]), (other, boss["token_id"])]
        with ThreadPoolExecutor(2) as pool:
            statuses = [*pool.map(lambda ask: ask[0].delete(f"/v1/tokens/{ask[1]}").status_code, asks)]
    assert statuses.count(200) == 1, statuses
