"""List servers, and mark them as in use, by requests."""

import pytest
from fastapi.testclient import TestClient

from tests.builders.uploaded_region import pages, server


def test_servers_are_listed_and_filtered(viewer: TestClient, imported: None) -> None:
    every = [s["name"] for s in pages(viewer, "/v1/servers", limit=3)]
    assert every == [f"server-{i:02d}" for i in range(8)]
    assert [s["name"] for s in pages(viewer, "/v1/servers", target_reservation="web")] == ["server-00", "server-05"]
    assert [s["name"] for s in pages(viewer, "/v1/servers", msb="msb-01", unavailability="none")] == every[4:7]
    one = server(viewer, "server-04")
    assert (one["current_reservation"], one["target_reservation"], one["datacenter"]) == ("gone", None, "dc-01")
    assert viewer.get(f"/v1/servers/{one['server_id']}").json() == one
    assert viewer.get("/v1/servers/999999").json()["code"] == "not_found"
    assert viewer.get("/v1/servers", params={"region": "north"}).status_code == 404
    assert viewer.get("/v1/servers", params={"unavailability": "perhaps"}).status_code == 422


@pytest.mark.parametrize(
    ("path", "given", "wrong", "near"),
    [
        ("servers", {"target_reservation": "wbe"}, "target_reservation", ["web"]),
        ("servers", {"current_reservation": "wbe", "region": "west"}, "current_reservation", ["web"]),
        ("servers", {"msb": "msb-09", "rack": "rack-00"}, "msb", ["msb-01", "msb-00"]),
        ("servers", {"hardware_type": "hw-bb", "region": "west"}, "hardware_type", ["hw-a"]),
        ("plans", {"server": "server-0"}, "server", ["server-07", "server-06", "server-05"]),
        ("regions/west/chances", {"reservation": "wbe"}, "reservation", ["web"]),
    ],
)
def test_a_filter_by_an_unknown_name_is_refused(viewer, imported: None, path, given, wrong: str, near: list) -> None:
    answer = viewer.get(f"/v1/{path}", params=given)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["location"]) == (422, wrong, "query")
    assert (error["code"], error["known"][: len(near)]) == ("unknown_name", near)


def test_the_servers_of_a_deleted_reservation_may_all_have_left(viewer: TestClient, imported: None) -> None:
    assert viewer.get("/v1/servers", params={"target_reservation": "gone"}).json()["items"] == []


def test_a_filter_by_a_known_name_may_find_nothing(viewer: TestClient, imported: None) -> None:
    assert list(pages(viewer, "/v1/servers", target_reservation="web", msb="msb-01", rack="rack-00")) == []
    assert list(pages(viewer, "/v1/servers", name="none")) == [], "a look for one by its name may miss it"


def test_an_allocator_marks_servers(operator: TestClient, imported: None) -> None:
    mine, free = server(operator, "server-00"), server(operator, "server-01")
    path, match = f"/v1/servers/{mine['server_id']}", {"If-Match": '"1"'}
    assert operator.patch(path, json={"in_use": False}, headers=match).json()["generation"] == 2
    assert operator.patch(path, json={"in_use": True}, headers=match).status_code == 409
    assert operator.patch(path, json={"in_use": "yes"}, headers=match).status_code == 422

    def change(one: dict[str, object], generation: int) -> dict[str, object]:
        return {"server_id": one["server_id"], "in_use": True, "generation": generation}

    both = operator.patch("/v1/servers", json={"servers": [change(mine, 2), change(free, 1)]})
    assert both.status_code == 422
    assert "bound to no reservation" in both.json()["detail"]
    assert server(operator, "server-00")["in_use"] is False
    stale = operator.patch("/v1/servers", json={"servers": [change(mine, 1)]})
    assert (stale.status_code, stale.json()["found_generation"]) == (409, 2)
    done = operator.patch("/v1/servers", json={"servers": [change(mine, 2)]})
    assert [(s["in_use"], s["generation"]) for s in done.json()["items"]] == [(True, 3)]
    assert operator.patch("/v1/servers", json={"servers": []}).status_code == 422
    entries = pages(operator, "/v1/audit-entries", subject_kind="server", subject_id=mine["server_id"])
    assert [entry["after"] for entry in entries] == [{"in_use": False}, {"in_use": True}]
