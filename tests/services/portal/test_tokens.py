import os
import stat
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from libs.reconcile.clock import SystemClock
from libs.store.database import Database
from libs.store.tokens import list_tokens, revoke_token
from services.portal.admin_token import ensure_admin_token


def test_a_token_is_shown_once_used_and_revoked(app, admin: TestClient, client: TestClient) -> None:
    made = admin.post("/v1/tokens", json={"name": "ci", "role": "viewer"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert secret.startswith("plim_")
    assert made.headers["cache-control"] == "no-store"
    listed = admin.get("/v1/tokens?limit=1000").json()["items"]
    assert [token["name"] for token in listed] == ["boss", "tester", "ci"] or len(listed) == 3
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
