"""Tell a region's life at the broker by requests."""

import dataclasses
import io
import json
import zipfile
from collections.abc import Iterator

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from libs.domain.fleet import RegionImage
from libs.domain.plan import PlanKind
from libs.domain.principal import Role
from libs.domain.reservation import ReservationSpec
from libs.domain.rru_catalogue import ClassVersion, RegionCatalogue
from libs.interchange.files.bounds import ROWS_MAX
from libs.interchange.region.read import OPTIONAL_FILES
from libs.interchange.region.write import dump_region
from libs.store.plans.plans import commit_plan
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from tests.builders.equal import assert_same_image
from tests.builders.region import region_image
from tests.builders.stored import NOW, plan_of, read
from tests.libs.web.conftest import bearer

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, affinity={"dc-01": 0.5})
SERVING = ClassVersion(
    workload_class="serving",
    version=1,
    reference="hw-a",
    rru={"hw-a": 1.0, "hw-z": 2.0},
    asked_by=("ann",),
    approved_by="olga",
    reason="measured",
    created_at=NOW,
)


def image() -> RegionImage:
    return region_image(
        datacenters=2,
        reservations={"web": WEB},
        current={"server-00": "web", "server-04": "gone"},
        target={"server-00": "web", "server-05": "web"},
        in_use={"server-00"},
        down={"server-07"},
    )


def classed() -> RegionImage:
    """Return the region with a catalogue, whose class web follows."""
    catalogue = RegionCatalogue(cost_units={"hw-z": 1.5}, versions=(SERVING,))
    return dataclasses.replace(image(), catalogue=catalogue, reservation_class=np.array(["serving"], object))


def upload(client: TestClient, folder: dict[str, bytes], region: str = "west", **headers: str):
    files = {name.split(".")[0]: (name, content) for name, content in folder.items()}
    return client.post(f"/v1/regions/{region}/import", files=files, headers=headers)


@pytest.fixture
def imported(operator: TestClient) -> None:
    assert upload(operator, dump_region(image())).status_code == 201


def pages(client: TestClient, path: str, **query: object) -> Iterator[dict[str, object]]:
    cursor: dict[str, object] = {}
    while True:
        answer = client.get(path, params={**query, **cursor})
        assert answer.status_code == 200, answer.text
        yield from answer.json()["items"]
        if answer.json()["next_cursor"] is None:
            return
        cursor = {"cursor": answer.json()["next_cursor"]}


def server(client: TestClient, name: str) -> dict[str, object]:
    [found] = client.get("/v1/servers", params={"name": name, "region": "west"}).json()["items"]
    return found


def test_a_region_is_imported_read_and_exported(operator: TestClient, viewer: TestClient, database: Database) -> None:
    made = upload(operator, dump_region(classed()), **{"Idempotency-Key": "import-west"})
    assert made.status_code == 201
    assert made.headers["Location"] == "/v1/regions/west"
    region = viewer.get("/v1/regions/west")
    assert region.json() == made.json()
    assert region.headers["ETag"] == '"1"'
    assert [r["name"] for r in viewer.get("/v1/regions").json()["items"]] == ["west"]

    summary = viewer.get("/v1/regions/west/summary").json()
    [by_type] = summary["hardware_types"]
    assert (by_type["servers"], by_type["bound"], by_type["free"], by_type["unavailable"]) == (8, 2, 5, 1)
    assert (summary["reservations"], summary["degraded"], summary["embedded_buffer_rru"]) == (1, 1, 1.0)

    exported = viewer.get("/v1/regions/west/export")
    assert exported.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        folder = {name: archive.read(name) for name in archive.namelist()}
    assert upload(operator, folder, "east").status_code == 201
    with database.snapshot() as tx:
        west, east = load_region_image(tx, "west"), load_region_image(tx, "east")
    renamed = dataclasses.replace(east, snapshot=dataclasses.replace(east.snapshot, region="west"))
    assert_same_image(renamed, west)
    assert west.catalogue == classed().catalogue


def test_the_files_of_the_catalogue_are_optional_and_checked(operator: TestClient) -> None:
    folder = {name: content for name, content in dump_region(classed()).items() if name not in OPTIONAL_FILES}
    refused = upload(operator, folder)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "is not a class of rru_classes.parquet" in refused.text
    assert upload(operator, dump_region(image())).status_code == 201


def test_a_region_is_imported_once(operator: TestClient, imported: None) -> None:
    again = upload(operator, dump_region(image()))
    assert (again.status_code, again.json()["code"]) == (409, "duplicate_name")


def test_an_import_that_is_sent_again_gets_the_same_answer(operator: TestClient) -> None:
    folder, key = dump_region(image()), {"Idempotency-Key": "once"}
    first, second = upload(operator, folder, **key), upload(operator, folder, **key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert second.headers["Idempotency-Replayed"] == "true"


def test_a_key_is_not_answered_for_other_files(operator: TestClient) -> None:
    folder, key = dump_region(image()), {"Idempotency-Key": "once"}
    assert upload(operator, folder, **key).status_code == 201
    other = upload(operator, folder | {"policy.json": b'{"buffer_cost": 2}'}, **key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_a_region_may_have_any_printable_name(operator: TestClient) -> None:
    made = upload(operator, dump_region(image()), "東京 1")
    assert made.status_code == 201, made.text
    assert operator.get(made.headers["Location"]).json()["name"] == "東京 1"


def test_a_region_whose_name_no_folder_can_have_is_refused(operator: TestClient) -> None:
    """A folder of this name must hold its replay bundles, or every solve of it would fail."""
    refused = upload(operator, dump_region(image()), "東" * 100)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "region")


def parquet(**columns: object) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def with_column(content: bytes, name: str, values: list[object]) -> bytes:
    table = pq.read_table(io.BytesIO(content))
    stream = io.BytesIO()
    pq.write_table(table.set_column(table.column_names.index(name), name, pa.array(values)), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("file", "spoil", "field"),
    [
        (
            "servers.parquet",
            lambda content: with_column(content, "msb", ["msb-00"] * 3 + ["msb-01"] * 5),
            "servers.parquet[3].rack",
        ),
        (
            "servers.parquet",
            lambda content: with_column(content, "server", ["server-00"] * 2 + list("cdefgh")),
            "servers.parquet[1].server",
        ),
        ("servers.parquet", lambda content: b"PAR1 and no more", "servers.parquet"),
        (
            "reservations.parquet",
            lambda content: with_column(content, "capacity_rru", [-1.0]),
            "reservations.parquet[0].capacity_rru",
        ),
        ("rru.parquet", lambda content: parquet(reservation=["nobody"]), "rru.parquet.hardware_type"),
        (
            "affinity.parquet",
            lambda content: with_column(content, "datacenter", ["dc-99"]),
            "affinity.parquet[0].datacenter",
        ),
        ("policy.json", lambda content: json.dumps({"move_cost": 1}).encode(), "policy.json.move_cost"),
        (
            "servers.parquet",
            lambda content: with_column(content, "in_use", [True] * 8),
            "in_use",
        ),
    ],
)
def test_a_bad_file_is_named_and_changes_nothing(operator: TestClient, file: str, spoil, field: str) -> None:
    folder = dump_region(image())
    refused = upload(operator, folder | {file: spoil(folder[file])})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request"), refused.text
    assert field in [error["field"] for error in refused.json()["errors"]], refused.text
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert operator.get("/v1/regions").json()["items"] == []
    assert list(pages(operator, "/v1/audit-entries")) == []


def test_a_file_that_is_missing_is_named(operator: TestClient) -> None:
    folder = dump_region(image())
    del folder["rru.parquet"]
    refused = upload(operator, folder)
    assert refused.status_code == 422
    assert [error["field"] for error in refused.json()["errors"]] == ["rru"]


def test_a_small_file_that_unfolds_into_too_many_rows_is_refused(operator: TestClient, monkeypatch) -> None:
    monkeypatch.setitem(ROWS_MAX, "servers.parquet", 7)
    refused = upload(operator, dump_region(image()))
    assert refused.status_code == 422
    assert "8 rows; at most 7" in refused.json()["errors"][0]["message"]


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


def test_a_hardware_type_gets_its_figures(operator: TestClient, imported: None) -> None:
    match = {"If-Match": operator.get("/v1/hardware-types/hw-a").headers["ETag"]}
    body = {"attributes": {"vcpu": 96, "maker": "anybody", "gpu": False}}
    after = operator.put("/v1/hardware-types/hw-a", json=body, headers=match)
    assert after.status_code == 200
    assert after.json()["attributes"] == body["attributes"]
    assert operator.put("/v1/hardware-types/hw-a", json=body, headers=match).status_code == 409
    assert [t["name"] for t in pages(operator, "/v1/hardware-types")] == ["hw-a"]
    wrong = operator.put("/v1/hardware-types/hw-a", json={"attributes": {"a": [1]}}, headers={"If-Match": '"2"'})
    assert wrong.status_code == 422


def test_a_hardware_type_gets_its_cost_units(operator: TestClient, imported: None) -> None:
    path = "/v1/hardware-types/hw-a"
    assert operator.get(path).json()["cost_units"] is None
    match = {"If-Match": operator.get(path).headers["ETag"]}
    after = operator.put(f"{path}/cost-units", json={"cost_units": 1.6, "reason": "prices"}, headers=match)
    assert (after.status_code, after.json()["cost_units"]) == (200, 1.6)
    assert operator.put(f"{path}/cost-units", json={"cost_units": 2}, headers=match).status_code == 409
    for wrong in (0, -1, 1e7, "x"):
        answer = operator.put(f"{path}/cost-units", json={"cost_units": wrong}, headers={"If-Match": '"2"'})
        assert [error["field"] for error in answer.json()["errors"]] == ["cost_units"]
    [entry] = [entry for entry in pages(operator, "/v1/audit-entries") if entry["action"] == "put_cost_units"]
    told = (entry["actor"], entry["before"], entry["after"], entry["reason"])
    assert told == ("olga", {"cost_units": None}, {"cost_units": 1.6}, "prices")


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


def test_an_outage_is_reported_and_ends(operator: TestClient, imported: None) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "kind": "unplanned", "reason": "power"}
    made = operator.post("/v1/unavailability-events", json=body, headers={"Idempotency-Key": "outage-1"})
    assert made.status_code == 201
    event = operator.get(made.headers["Location"]).json()
    assert event == made.json()
    assert (
        operator.post("/v1/unavailability-events", json=body, headers={"Idempotency-Key": "outage-1"}).json() == event
    )
    down = [s["name"] for s in pages(operator, "/v1/servers", unavailability="unplanned")]
    assert down == ["server-00", "server-01", "server-02", "server-03", "server-07"]
    ended = operator.post(made.headers["Location"] + "/end")
    assert ended.status_code == 200
    assert ended.json()["ended_at"] is not None
    assert operator.post(made.headers["Location"] + "/end").json() == ended.json()
    assert [s["name"] for s in pages(operator, "/v1/servers", unavailability="unplanned")] == ["server-07"]
    still_open = [e["scope_name"] for e in pages(operator, "/v1/unavailability-events", region="west", open=True)]
    assert still_open == ["server-07"]


def test_maintenance_is_answered_now_later_or_not_at_all(operator: TestClient, imported: None) -> None:
    """Both MSBs have one rack of four servers, so one server of each may be in maintenance."""
    path = "/v1/unavailability-events"
    body = {"region": "west", "scope": "server", "scope_name": "server-01", "kind": "planned", "reason": "work"}

    def ask(**change: object) -> httpx.Response:
        return operator.post(path, json=body | change)

    foreseen = operator.post(f"{path}?dry_run=true", json=body)
    assert (foreseen.status_code, foreseen.json()["verdict"]) == (200, "now")
    assert [e["kind"] for e in pages(operator, path, region="west", open=True)] == ["unplanned"]
    now, later = ask(), ask(scope_name="server-04")
    assert (now.status_code, now.json()["state"], now.json()["answer"]["reason"]) == (201, "allowed", "Allowed")
    assert (later.status_code, later.json()["state"]) == (202, "queued")
    answer = later.json()["answer"]
    assert (answer["reason"], answer["waits_for"], answer["position"]) == (
        "OtherMsb",
        [now.json()["unavailability_event_id"]],
        1,
    )
    assert [e["scope_name"] for e in pages(operator, path, region="west", state="queued")] == ["server-04"]
    refused = ask(scope="rack", scope_name="rack-00")
    assert (refused.status_code, refused.json()["code"]) == (409, "maintenance_refused")
    assert refused.json()["answer"]["reason"] == "AboveQuarter"
    assert "rack rack-00 is refused: it takes 3 of the 4 servers of msb-00" in refused.json()["detail"]
    assert operator.post(now.headers["Location"] + "/end").json()["state"] == "allowed"
    assert operator.get(later.headers["Location"]).json()["state"] == "allowed"
    assert ask(scope="rack", scope_name="rack-00", override_reason="fire drill").json()["state"] == "allowed"


def test_only_operators_override(app: FastAPI, database: Database, operator: TestClient, imported: None) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "reason": "work", "override_reason": "drill"}
    health = TestClient(app, headers=bearer(database, Role.HEALTH, "dog"))
    refused = health.post("/v1/unavailability-events", json=body | {"kind": "planned"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    failure = operator.post("/v1/unavailability-events", json=body | {"kind": "unplanned"})
    assert (failure.status_code, failure.json()["errors"][0]["field"]) == (422, "override_reason")
    del body["override_reason"]
    foreseen = operator.post("/v1/unavailability-events?dry_run=true", json=body | {"kind": "unplanned"})
    assert (foreseen.status_code, foreseen.json()["errors"][0]["field"]) == (422, "dry_run")


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"scope_name": "rack-99"}, 404, None),
        ({"region": "north"}, 404, None),
        ({"kind": "none"}, 422, "kind"),
        ({"scope": "planet"}, 422, "scope"),
        ({"starts_at": "2026-11-02T00:00:00Z", "ends_at": "2026-11-01T00:00:00Z"}, 422, "ends_at"),
        ({"ends_at": "9999-12-31T23:59:59-12:00"}, 422, "ends_at"),
        ({"starts_at": "2026-11-02T00:00:00"}, 422, "starts_at"),
        ({"reason": "line\nbreak"}, 422, "reason"),
    ],
)
def test_a_report_that_makes_no_sense(operator: TestClient, imported: None, change, status, field) -> None:
    body = {"region": "west", "scope": "rack", "scope_name": "rack-00", "kind": "planned", "reason": "work"}
    refused = operator.post("/v1/unavailability-events", json=body | change)
    assert refused.status_code == status
    assert [error["field"] for error in refused.json()["errors"]] == ([field] if field else [])


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
