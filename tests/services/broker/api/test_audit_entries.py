"""Check the roles that may read the audit trail."""

from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.reconcile.clock import SystemClock
from libs.store.platform import audit
from libs.store.platform.database import Database
from tests.libs.web.conftest import bearer


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
