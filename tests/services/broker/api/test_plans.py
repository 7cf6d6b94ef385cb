"""Read plans and their changes by requests."""

from fastapi.testclient import TestClient

from libs.domain.plan import PlanKind
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from tests.builders.stored import NOW, plan_of, read
from tests.builders.uploaded_region import pages


def test_plans_are_read(viewer: TestClient, imported: None, database: Database) -> None:
    snapshot = read(database)
    plan = plan_of(snapshot, {"server-01": "web", "server-02": "web"})
    with database.write() as tx:
        commit_plan(tx, snapshot, plan, kind=PlanKind.SOLVE, parent=snapshot.target_plan_id, now=NOW)
    latest, first = pages(viewer, "/v1/plans", limit=1)
    assert (latest["kind"], latest["parent_plan_id"], latest["changes"]) == ("solve", first["plan_id"], 2)
    assert viewer.get(f"/v1/plans/{latest['plan_id']}").json() == latest
    assert viewer.get("/v1/regions/west").json()["target_plan_id"] == latest["plan_id"]
    changes = pages(viewer, f"/v1/plans/{latest['plan_id']}/changes", limit=1)
    assert [(c["server"], c["from_reservation"], c["to_reservation"]) for c in changes] == [
        ("server-01", None, "web"),
        ("server-02", None, "web"),
    ]
    assert viewer.get("/v1/plans/999/changes").status_code == 404
    assert list(pages(viewer, "/v1/plans", region="west", kind="grant")) == []
