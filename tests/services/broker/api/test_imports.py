"""Test imports and retirements by requests."""

import io

import pytest
from fastapi.testclient import TestClient

from libs.interchange.inventory.inventory import dump_inventory
from libs.interchange.inventory.servers_csv import load_csv
from libs.store.platform.database import Database
from tests.builders.uploaded_region import pages, server

HEADER = "server,datacenter,msb,rack,hardware_type,unavailability\n"
PATH = "/v1/regions/west/imports"
WEST = "".join(
    f"server-{i:02d},dc-{i // 4:02d},msb-{i // 4:02d},rack-{i // 4:02d},hw-a,{'unplanned' if i == 7 else 'none'}\n"
    for i in range(8)
)


def listed(text: str) -> dict[str, tuple[str, bytes]]:
    return {"servers": ("servers.parquet", dump_inventory(load_csv(io.BytesIO((HEADER + text).encode()), "a.csv")))}


def propose(client: TestClient, text: str, **query: str):
    return client.post(PATH, params=query, files=listed(text), headers={"Idempotency-Key": f"{hash((text, *query))}"})


@pytest.mark.usefixtures("imported")
def test_a_list_is_proposed_looked_at_and_confirmed(operator: TestClient, viewer: TestClient) -> None:
    assert propose(viewer, WEST).status_code == 403
    same = propose(operator, WEST)
    assert (same.status_code, set(same.json()["counts"].values())) == (201, {0})
    rows = WEST.replace("server-00,dc-00,msb-00,rack-00,hw-a", "server-00,dc-00,msb-00,rack-00,hw-b")
    made = propose(operator, rows + "new,dc-00,msb-00,rack-00,hw-b,none\n")
    found = made.json()
    assert made.headers["Location"] == f"{PATH}/{found['import_id']}"
    assert found["counts"] == {"add": 1, "change": 0, "retire": 0, "refuse": 1, "keep": 0}
    one = made.headers["Location"]
    assert viewer.get(one).json() == found
    items = list(pages(viewer, f"{one}/items", limit=1))
    assert [(item["action"], item["server"], item["reservation"]) for item in items] == [
        ("refuse", "server-00", "web"),
        ("add", "new", None),
    ]
    assert "web relies on the server" in str(items[0]["message"])
    assert viewer.post(f"{one}/confirm").status_code == 403
    confirmed = operator.post(f"{one}/confirm")
    assert (confirmed.status_code, confirmed.json()["status"], confirmed.json()["decided_by"]) == (
        200,
        "confirmed",
        "olga",
    )
    assert server(viewer, "new")["hardware_type"] == "hw-b"
    assert operator.post(f"{one}/discard").status_code == 409
    assert [one["import_id"] for one in pages(viewer, PATH)] == [found["import_id"], same.json()["import_id"]]
    entries = viewer.get("/v1/audit-entries", params={"subject_kind": "import"}).json()["items"]
    assert [entry["action"] for entry in entries] == ["confirm"]


@pytest.mark.usefixtures("imported")
def test_what_was_compared_has_changed(operator: TestClient) -> None:
    both = [propose(operator, f"new,dc-00,msb-00,rack-00,{kind},none\n").json() for kind in ("hw-a", "hw-b")]
    assert operator.post(f"{PATH}/{both[0]['import_id']}/confirm").status_code == 200
    stale = operator.post(f"{PATH}/{both[1]['import_id']}/confirm")
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_import")
    assert stale.json()["detail"].endswith("there is a server new by now. Import the list again.")
    assert operator.post(f"{PATH}/{both[1]['import_id']}/discard").json()["status"] == "discarded"
    assert operator.post(f"{PATH}/999/confirm").status_code == 404


@pytest.mark.usefixtures("imported")
def test_a_list_that_cannot_be_is_refused_by_field(operator: TestClient) -> None:
    moved = propose(operator, "new,dc-00,msb-01,rack-09,hw-a,none\nold,dc-00,msb-00,rack-01,hw-a,none\n")
    assert moved.status_code == 422
    assert [(error["field"], error["code"]) for error in moved.json()["errors"]] == [
        ("servers.parquet.msb", "elsewhere"),
        ("servers.parquet.rack", "elsewhere"),
    ]
    assert "msb msb-01 stands in datacenter dc-01, not in dc-00" in moved.json()["errors"][0]["message"]
    bad = operator.post(PATH, files={"servers": ("servers.parquet", b"PAR1")})
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "servers.parquet")
    assert operator.post("/v1/regions/nowhere/imports", files=listed(WEST)).status_code == 404


def free_servers(viewer: TestClient) -> int:
    return sum(row["free"] for row in viewer.get("/v1/regions/west/summary").json()["hardware_types"])


@pytest.mark.usefixtures("imported")
def test_a_rack_is_retired_and_the_retirement_cancelled(
    operator: TestClient, viewer: TestClient, database: Database
) -> None:
    body = {
        "region": "west",
        "scope": "rack",
        "scope_name": "rack-00",
        "kind": "decommission",
        "reason": "end of life",
        "due_at": "2100-01-01T00:00:00Z",
    }
    assert viewer.post("/v1/retirements", json=body).status_code == 403
    free = free_servers(viewer)
    made = operator.post("/v1/retirements", json=body)
    assert free_servers(viewer) == free - 3, "what is to be retired is not free"
    assert (made.status_code, made.headers["ETag"]) == (201, '"1"')
    found = made.json()
    assert (found["condition"], found["servers"], found["held"]) == ("Emptying", 4, {"web": 1})
    assert viewer.get(made.headers["Location"]).json() == found
    assert [one["retirement_id"] for one in pages(viewer, "/v1/retirements", region="west", status="announced")] == [1]
    again = operator.post("/v1/retirements", json=body).json()
    assert (again["code"], again["detail"]) == (
        "duplicate_name",
        "There is already an announced retirement of rack rack-00: cancel it first to announce another one.",
    )
    for wrong, status in (
        ({"scope_name": "rack-99"}, 404),
        ({"kind": "refresh"}, 422),
        ({"scope_name": "rack-01", "kind": "refresh", "to_hardware_type": "hw-0"}, 404),
        ({"to_hardware_type": "hw-a"}, 422),
        ({"back_at": "2101-01-01T00:00:00Z"}, 422),
        ({"due_at": "0001-01-01T00:00:00Z"}, 422),
        ({"scope_name": "rack-01", "due_at": "2025-01-01T00:00:00Z"}, 422),
    ):
        assert operator.post("/v1/retirements", json=body | wrong).status_code == status, wrong
    cancel = f"{made.headers['Location']}/cancel"
    assert viewer.post(cancel, headers={"If-Match": '"1"'}).status_code == 403
    assert operator.post(cancel).status_code == 428
    assert operator.post(cancel, headers={"If-Match": '"7"'}).status_code == 409
    assert operator.post(cancel, headers={"If-Match": '"1"'}).json()["condition"] == "Cancelled"
    again = operator.post(cancel, headers={"If-Match": '"2"'})
    assert (again.status_code, again.json()["generation"]) == (200, 2)
    entries = viewer.get("/v1/audit-entries", params={"subject_kind": "retirement"}).json()["items"]
    assert [(entry["action"], entry["reason"]) for entry in entries] == [("announce", "end of life"), ("cancel", None)]
