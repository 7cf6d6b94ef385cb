"""Change a region's policy by requests, and check the role that the broker's writes need."""

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from libs.interchange.region.write import dump_region
from tests.builders.uploaded_region import image, pages, server, upload


def test_only_operators_change_things(viewer: TestClient, operator: TestClient, imported: None) -> None:
    here = server(viewer, "server-00")["server_id"]
    match = {"If-Match": '"1"'}
    for refused in (
        upload(viewer, dump_region(image()), "east"),
        viewer.patch("/v1/regions/west", json={"policy": {"buffer_cost": 1}}, headers=match),
        viewer.put("/v1/hardware-types/hw-a", json={"attributes": {}}, headers=match),
        viewer.patch(f"/v1/servers/{here}", json={"in_use": False}, headers=match),
        viewer.patch("/v1/servers", json={"servers": [{"server_id": here, "in_use": True, "generation": 1}]}),
        viewer.post("/v1/unavailability-events", json={}),
        viewer.post("/v1/unavailability-events/1/end"),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_policy_is_changed_by_whoever_has_read_it(operator: TestClient, imported: None) -> None:
    first = operator.patch("/v1/regions/west", json={"policy": {"buffer_cost": 8}}, headers={"If-Match": '"1"'})
    assert first.status_code == 200
    assert first.headers["ETag"] == '"2"'
    assert first.json()["policy"] == operator.get("/v1/regions/west").json()["policy"]
    assert (first.json()["policy"]["buffer_cost"], first.json()["policy"]["spread_cost"]) == (8.0, 2.0)
    stale = operator.patch("/v1/regions/west", json={"policy": {"buffer_cost": 9}}, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["code"], stale.json()["found_generation"]) == (409, "stale_generation", 2)
    blind = operator.patch("/v1/regions/west", json={"policy": {"buffer_cost": 9}})
    assert blind.status_code == 428
    for wrong in ({"buffer_cost": -1}, {"buffer_cost": None}, {"shared_buffer_share": 1}, {"bufer_cost": 1}):
        refused = operator.patch("/v1/regions/west", json={"policy": wrong}, headers={"If-Match": '"2"'})
        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == [f"policy.{next(iter(wrong))}"]
    [entry] = [entry for entry in pages(operator, "/v1/audit-entries") if entry["action"] == "update_policy"]
    assert (entry["actor"], entry["before"]["buffer_cost"], entry["after"]["buffer_cost"]) == ("olga", 5.0, 8.0)


@pytest.mark.parametrize(
    ("path", "given", "field"), [("supply", {}, "at"), ("drain-schedule", {"rack": "rack-00"}, "starts_at")]
)
def test_no_answer_about_now_is_given_for_a_time_in_the_past(
    viewer: TestClient, imported: None, path: str, given: dict[str, str], field: str
) -> None:
    now = datetime.now(UTC)
    for ago, status in ((timedelta(days=2), 422), (timedelta(hours=2), 200), (-timedelta(days=2), 200)):
        answer = viewer.get(f"/v1/regions/west/{path}", params=given | {field: (now - ago).isoformat()})
        errors = [(e["field"], e["location"], e["code"]) for e in answer.json().get("errors", [])]
        assert (answer.status_code, errors) == (status, [(field, "query", "past")] if status == 422 else [])
