"""Test planning inputs over REST: versions, checks with row and field, history and differences."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.flux.reservation_sizes import ReservationTable
from libs.interchange.planning_inputs.service_reservations import service_reservations_of
from libs.store.planner.planning_inputs import load_all_current
from libs.store.platform.audit import list_entries
from tests.builders.planning_inputs import put, put_after, put_csv, put_world

GROWTH = [{"step": 1, "product": "feed", "growth": 0.02}, {"step": 2, "product": "feed", "growth": 0.05}]
PARQUET = "application/vnd.apache.parquet"


def errors(answer):
    assert answer.status_code == 422, answer.text
    return {one["field"]: one["message"] for one in answer.json()["errors"]}


def test_what_is_put_is_there_with_who_and_why(client, database):
    empty = client.get("/v1/planning-inputs/traffic_growth")
    assert (empty.json()["version"], empty.json()["items"], empty.headers["etag"]) == (0, [], '"0"')
    made = put(client, "traffic_growth", GROWTH[::-1], comment="the new feed")
    assert made.json() | {"created_at": None} == {
        "name": "traffic_growth",
        "version": 1,
        "rows": 2,
        "required": False,
        "comment": "the new feed",
        "created_by": "tester",
        "created_at": None,
        "changed": True,
        "counts": {"added": 2, "removed": 0, "changed": 0},
        "warnings": [],
    }
    found = client.get("/v1/planning-inputs/traffic_growth")
    assert found.headers["etag"] == '"1"'
    assert found.json()["items"] == GROWTH, "in order of their key"
    with database.snapshot() as tx:
        [entry] = list_entries(tx, subject_kind="planning_input").items
    assert (entry.actor, entry.action, entry.reason) == ("tester", "put", "the new feed")
    assert entry.after["version"] == 1
    listed = {one["name"]: one["version"] for one in client.get("/v1/planning-inputs").json()}
    assert listed["traffic_growth"] == 1
    assert listed["gateways"] == 0


def test_versions_stay_and_differ(client):
    put(client, "traffic_growth", GROWTH, comment="first")
    more = [GROWTH[0] | {"growth": 0.03}, {"step": 1, "product": "shop", "growth": 0.1}]
    assert put(client, "traffic_growth", more).json()["counts"] == {"added": 1, "removed": 1, "changed": 1}
    old = client.get("/v1/planning-inputs/traffic_growth", params={"version": 1}).json()
    assert (old["items"], old["comment"]) == (GROWTH, "first")
    history = client.get("/v1/planning-inputs/traffic_growth/versions", params={"limit": 1}).json()
    assert [one["version"] for one in history["items"]] == [2]
    rest = client.get("/v1/planning-inputs/traffic_growth/versions", params={"cursor": history["next_cursor"]}).json()
    assert [one["version"] for one in rest["items"]] == [1]
    found = client.get("/v1/planning-inputs/traffic_growth/diff").json()
    assert (found["from_version"], found["to_version"]) == (1, 2)
    by_change = {one["change"]: one for one in found["items"]}
    assert by_change["changed"]["before"]["growth"] == 0.02
    assert by_change["changed"]["after"]["growth"] == 0.03
    assert by_change["removed"]["before"] == GROWTH[1]
    assert by_change["added"]["after"] == more[1]
    whole = client.get("/v1/planning-inputs/traffic_growth/diff", params={"from_version": 0, "to_version": 1}).json()
    assert whole["counts"] == {"added": 2, "removed": 0, "changed": 0}


def test_the_same_rows_are_no_new_version(client):
    put(client, "traffic_growth", GROWTH)
    again = put(client, "traffic_growth", GROWTH[::-1])
    assert (again.json()["changed"], again.json()["version"]) == (False, 1)
    assert put_after(client, "traffic_growth", 0, GROWTH).status_code == 409, "whoever has not read it must"


def test_of_two_writers_one_is_told_to_read_again(client):
    put(client, "traffic_growth", GROWTH)
    stale = put_after(client, "traffic_growth", 0, [])
    assert (stale.status_code, stale.json()["code"], stale.json()["found_generation"]) == (409, "stale_generation", 1)
    assert client.put("/v1/planning-inputs/traffic_growth", json={"rows": []}).status_code == 428


def test_a_dry_run_says_all_and_keeps_nothing(client):
    would = put(client, "traffic_growth", GROWTH, dry_run=True)
    assert (would.json()["changed"], would.json()["version"], would.json()["rows"]) == (True, 0, 2)
    assert client.get("/v1/planning-inputs/traffic_growth").json()["version"] == 0
    assert errors(put(client, "traffic_growth", [{"step": 1}], dry_run=True))
    assert put_after(client, "traffic_growth", 3, GROWTH, dry_run=True).status_code == 409


def test_csv_and_parquet_are_the_same_rows(client):
    content = "step,product,growth\n2,feed,0.05\n1,feed,0.02\n"
    assert put_csv(client, "traffic_growth", content).json()["rows"] == 2
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(GROWTH), stream)
    given = {"If-Match": '"1"', "Content-Type": PARQUET}
    again = client.put("/v1/planning-inputs/traffic_growth", content=stream.getvalue(), headers=given)
    assert again.json()["changed"] is False
    back = client.get("/v1/planning-inputs/traffic_growth", headers={"Accept": PARQUET})
    assert pq.read_table(io.BytesIO(back.content)).to_pylist() == GROWTH
    text = client.get("/v1/planning-inputs/traffic_growth", headers={"Accept": "text/csv"}).text
    assert text.splitlines() == ["step,product,growth", "1,feed,0.02", "2,feed,0.05"]
    assert put_csv(client, "traffic_growth", text, version=1).json()["changed"] is False


@pytest.mark.parametrize("product", ["=HYPERLINK(0)", "+1", "-1", "@SUM(A1)", "'=1", "''+1"])
def test_a_name_is_no_formula_to_a_spreadsheet_and_comes_back_as_it_was(client, product):
    put(client, "traffic_growth", [{"step": 1, "product": product, "growth": 0.1}])
    text = client.get("/v1/planning-inputs/traffic_growth", headers={"Accept": "text/csv"}).text
    [row] = csv.DictReader(io.StringIO(text))
    assert row == {"step": "1", "product": "'" + product, "growth": "0.1"}
    assert put_csv(client, "traffic_growth", text, version=1).json()["changed"] is False
    kept = client.get("/v1/planning-inputs/traffic_growth", headers={"Accept": PARQUET}).content
    assert pq.read_table(io.BytesIO(kept))["product"].to_pylist() == [product]


@pytest.mark.parametrize(
    ("row", "field", "message"),
    [
        ({"product": "feed", "growth": 0.1}, "traffic_growth[1].step", "is missing"),
        ({"step": 1.5, "product": "feed", "growth": 0.1}, "traffic_growth[1].step", "1.5 is not a whole number"),
        ({"step": 2, "product": "feed", "growth": -2}, "traffic_growth[1].growth", "-2 is not at least -1"),
        ({"step": 2, "product": "feed", "growth": "much"}, "traffic_growth[1].growth", "'much' is not a finite number"),
        ({"step": 2, "product": "feed", "growth": True}, "traffic_growth[1].growth", "True is not a finite number"),
        ({"step": 2, "product": 7, "growth": 0.1}, "traffic_growth[1].product", "7 is not a name"),
        ({"step": 2, "product": "a\nb", "growth": 0.1}, "traffic_growth[1].product", "do not print"),
        ({"step": 1, "product": "feed", "growth": 0.1}, "traffic_growth[1].product", "appears twice: 1, feed"),
        ({"step": 2, "product": "feed", "grwth": 0.1}, "traffic_growth[1].grwth", "did you mean growth?"),
    ],
)
def test_a_bad_cell_is_named_by_row_and_field(client, row, field, message):
    found = errors(put(client, "traffic_growth", [GROWTH[0], row]))
    assert message in found[field]


def test_what_is_no_table_is_refused(client):
    assert "is not" in errors(put_csv(client, "growth", b"\xff\xfe"))["growth"]
    assert "has 1 cells" in errors(put_csv(client, "growth", "step,service\n1\n"))["growth[0]"]
    assert errors(client.put("/v1/planning-inputs/growth", json=[], headers={"If-Match": '"0"'}))
    given = {"If-Match": '"0"', "Content-Type": PARQUET}
    assert errors(client.put("/v1/planning-inputs/growth", content=b"PAR1 no", headers=given))
    given["Content-Type"] = "application/xml"
    refused = client.put("/v1/planning-inputs/growth", content=b"<a/>", headers=given)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")
    nowhere = put_after(client, "grwoth", 0, [])
    assert nowhere.status_code == 404
    assert "growth" in nowhere.json()["detail"]


def test_a_whole_world_is_put_and_checked_as_a_whole(client, world):
    put_world(client, world)
    assert client.get("/v1/planning-inputs/policy").json()["items"] == [{"e3_deficit": 1000.0}]
    [event] = client.get("/v1/planning-inputs/events").json()["items"]
    assert (event["start"], event["kind"]) == ("2026-11-02T11:40:00+00:00", "drain_test")
    rows = [{"step": 1, "service": "stroe", "hardware_type": "compute", "capacity": 1}]
    assert "'stroe' is not a service" in errors(put(client, "growth", rows))["growth[0].service"]
    rows = [{"step": 7, "service": "store", "hardware_type": "compute", "capacity": 1}]
    assert "not a step of supply" in errors(put(client, "growth", rows))["growth[0].step"]


@pytest.mark.parametrize("share", [0.0, 80.0])
def test_the_default_limit_of_load_tests_is_a_share(client, world, share):
    put_world(client, world)
    answer = put(client, "policy", [{"utilisation_max": share}])
    assert (answer.status_code, "above 0 and at most 1" in answer.json()["detail"]) == (422, True)
    assert put(client, "policy", [{"utilisation_max": 0.8}]).status_code == 200


@pytest.mark.parametrize(("name", "what"), [("services", "names no service"), ("supply", "names no region")])
def test_a_world_of_nothing_is_refused(client, world, name, what):
    put_world(client, world)
    answer = put(client, name, [])
    assert (answer.status_code, what in answer.json()["detail"]) == (422, True)


def test_what_a_put_makes_wrong_elsewhere_is_a_warning(client, world):
    put_world(client, world)
    services = client.get("/v1/planning-inputs/services").json()["items"]
    fewer = put(client, "services", [one for one in services if one["service"] != "store"])
    assert fewer.status_code == 200
    assert "growth, service, row 0: 'store' is not a service of this world" in " ".join(fewer.json()["warnings"])


def test_another_world_takes_its_place(client, world, tmp_path):
    """Put table by table, in the order of the command line: remains of the world before must not block one."""
    put_world(client, world)
    other = tmp_path / "other"
    other.mkdir()
    for path in world.glob("*.csv"):
        text = path.read_text()
        for name in ("compute", "store", "shop", "feed", "east"):
            text = text.replace(name, f"new-{name}")
        (other / path.name).write_text(text)
    (other / "policy.json").write_text((world / "policy.json").read_text())
    put_world(client, other)
    last = put(client, "policy", [{}])
    assert last.json()["warnings"] == []


def test_growth_in_units_of_another_type_needs_a_ratio(client, world):
    put_world(client, world)
    supply = client.get("/v1/planning-inputs/supply").json()["items"]
    put(client, "supply", [*supply, *(one | {"hardware_type": "flash"} for one in supply)])
    row = {"step": 1, "service": "store", "hardware_type": "flash", "capacity": 10.0}
    assert "conversion_ratio" in errors(put(client, "growth", [row]))["growth[0].hardware_type"]
    assert put(client, "growth", [row | {"conversion_ratio": 0.5}]).status_code == 200
    put(client, "fungibility", [{"service": "store", "hardware_type": "flash", "ratio": 0.25}])
    assert put(client, "growth", [row]).status_code == 200, "fungibility says what it is worth"


def test_minutes_need_to_know_when_they_began(client):
    content = "region,kind,start_minute,end_minute\neast,drain_test,700,740\n"
    assert "minute_zero" in errors(put_csv(client, "events", content))["events[0].start_minute"]
    assert "time zone" in errors(put(client, "events", [{"start": "2026-11-02", "end": "x"}]))["events[0].start"]


def test_an_event_does_not_end_before_it_starts(client):
    row = {"region": "north", "kind": "drill", "start": "2026-11-02T10:00:00Z", "end": "2026-11-02T09:00:00Z"}
    assert errors(put(client, "events", [row]))["events[0].end"] == "is before start"
    assert put(client, "events", [row | {"end": row["start"]}]).status_code == 200


@pytest.mark.parametrize("start", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_moments_outside_of_all_years_are_named(client, start):
    row = {"region": "north", "kind": "drill", "start": start, "end": "2026-11-02T08:00:00Z"}
    answer = put(client, "events", [row])
    assert answer.status_code == 422
    assert "is not a moment" in answer.text


@pytest.mark.parametrize("minute", [1e9, -1e9])
def test_minutes_that_lead_out_of_all_years_are_named(client, minute):
    row = {"region": "north", "kind": "drill", "start_minute": minute, "end_minute": 5}
    answer = put(client, "events", [row], minute_zero="9999-01-01T00:00:00Z" if minute > 0 else "0001-01-01T00:00:00Z")
    assert answer.status_code == 422
    assert "is no moment" in answer.text


def test_services_name_their_reservations(client, world, database):
    put_world(client, world)
    rows = [
        {"service": "store", "hardware_type": "compute", "reservation": "store", "rru_per_unit": 2.0, "headroom": 0.25},
        {"service": "store", "hardware_type": "compute", "region": "east", "reservation": "e", "rru_per_unit": 1.0},
    ]
    assert put(client, "service_reservations", rows).status_code == 200
    with database.snapshot() as tx:
        _, content = load_all_current(tx)["service_reservations"]
    table = ReservationTable(service_reservations_of(content))
    capacity = {("store", "east", "compute"): 3.0, ("store", "west", "compute"): 4.0}
    assert table.rru_of(capacity) == {("east", "e"): 3.0, ("west", "store"): 10.0}
    for wrong, field in (
        ({"region": "mars"}, "region"),
        ({"rru_per_unit": 0.0}, "rru_per_unit"),
        ({"service": "x"}, "service"),
    ):
        refused = errors(put(client, "service_reservations", [rows[0] | wrong]))
        assert [name.rsplit(".", 1)[1] for name in refused] == [field]
    assert "appears twice" in str(errors(put(client, "service_reservations", [rows[0], rows[0]])))
