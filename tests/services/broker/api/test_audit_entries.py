"""Check the roles that may read the audit trail, and its filters."""

from datetime import UTC, datetime, timedelta

from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform import audit
from libs.store.platform.database import Database
from tests.libs.web.conftest import bearer

BEGAN = datetime(2026, 11, 2, tzinfo=UTC)


def test_entries_about_tokens_are_for_admins(
    app: FastAPI, viewer: TestClient, operator: TestClient, database: Database
) -> None:
    """They name admins, and the end of old secrets."""
    with database.write() as tx:
        for kind in ("token", "region"):
            audit.append(
                tx,
                actor="boss",
                action="rotate",
                subject_kind=kind,
                subject_id=1,
                now=SystemClock().now(),
                after={"name": "secret-service"},
            )
    queries: list[dict[str, str]] = [{}, {"subject_kind": "token"}, {"actor": "boss"}]
    for client in (viewer, operator):
        found = [client.get("/v1/audit-entries", params=params).json()["items"] for params in queries]
        assert [[entry["subject_kind"] for entry in page] for page in found] == [["region"], [], ["region"]]
    with TestClient(app, headers=bearer(database, Role.ADMIN, "boss")) as admin:
        kinds = [entry["subject_kind"] for entry in admin.get("/v1/audit-entries").json()["items"]]
        assert kinds == ["token", "region"]


def test_entries_of_a_time_and_an_action_come_in_either_order(viewer: TestClient, database: Database) -> None:
    times = [BEGAN + timedelta(hours=12 * day) for day in range(40)]
    times[20], times[21] = times[21] - timedelta(minutes=30), times[20]  # a long write took its time early
    times[10] = times[39] + timedelta(days=1)  # a clock was wrong
    with database.write() as tx:
        for at, moment in enumerate(times):
            action = "first" if at % 2 == 0 else "second"
            audit.append(tx, actor=f"a{at}", action=action, subject_kind="region", subject_id=999, now=moment)

    def actors(**query: str) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = viewer.get(
                "/v1/audit-entries", params={**query, "limit": "7", **({"cursor": cursor} if cursor else {})}
            )
            assert page.status_code == 200, page.text
            found += [entry["actor"] for entry in page.json()["items"]]
            cursor = page.json()["next_cursor"]
            if cursor is None:
                return found

    everything = [f"a{at}" for at in range(40)]
    assert actors() == everything
    assert actors(latest_first="true") == everything[::-1]
    assert actors(action="second") == everything[1::2]
    for first, last in ((0, 39), (5, 30), (20, 21), (21, 21), (39, 39)):
        since, until = min(times[first:]), max(times[: last + 1]) + timedelta(seconds=1)
        wanted = [f"a{at}" for at, moment in enumerate(times) if since <= moment < until]
        assert actors(since=since.isoformat(), until=until.isoformat()) == wanted
        assert actors(since=since.isoformat(), until=until.isoformat(), latest_first="true") == wanted[::-1]
    assert actors(since=(times[-1] + timedelta(days=2)).isoformat()) == []
    assert actors(until=(BEGAN - timedelta(days=2)).isoformat()) == []
    assert viewer.get("/v1/audit-entries", params={"since": "lately"}).status_code == 422


def test_no_entry_is_of_any_time(viewer: TestClient) -> None:
    assert viewer.get("/v1/audit-entries", params={"since": BEGAN.isoformat()}).json()["items"] == []
