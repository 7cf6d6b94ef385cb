"""Import and export a region as files: all or nothing, once, and each bad file is named."""

import dataclasses
import io
import json
import zipfile
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from libs.interchange.files.bounds import ROWS_MAX
from libs.interchange.region.read import OPTIONAL_FILES
from libs.interchange.region.write import dump_region
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from tests.builders.equal import assert_same_image
from tests.builders.uploaded_region import classed, image, pages, upload


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
    table = table.drop_columns([name]) if name in table.column_names else table
    pq.write_table(table.append_column(name, pa.array(values)), stream)
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
        *(
            (
                "reservations.parquet",
                partial(with_column, name="promised_rru", values=[promised]),
                field,
            )
            for promised, field in (
                (-1.0, "reservations.parquet[0].promised_rru"),
                (float("inf"), "reservations.parquet[0].promised_rru"),
                (None, "reservations.parquet[0].promised_rru"),
                (1000.0, "promised_rru"),
            )
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
