"""Guests in the files of a region."""

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.domain.reservation import ReservationSpec
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from tests.builders.equal import assert_same_image, assert_same_snapshot
from tests.builders.region import region_image

WEB = ReservationSpec(capacity_rru=4, rru={"hw-a": 1.0, "hw-b": 2.2}, resources={"cores": 100.0})


def guest(**more):
    return ReservationSpec(**{"capacity_rru": 6, "rru": {"hw-a": 3.3}, "guest_of": "web", "guest_share": 0.3, **more})


def image(**guests):
    return region_image(
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": WEB, **guests, "other": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})},
        current={"server-00": "web", "server-01": "other", "server-02": "gone"},
        attributes={"hw-a": {"cores": 64.0}, "hw-b": {"cores": 32.0}},
    )


def columns(files):
    return pq.read_table(io.BytesIO(files["reservations.parquet"])).to_pydict()


def rru(files):
    table = pq.read_table(io.BytesIO(files["rru.parquet"])).to_pylist()
    return {(row["reservation"], row["hardware_type"]): row["rru"] for row in table}


def test_a_region_with_guests_comes_back_from_its_files():
    given = image(cache=guest(), batch=guest(capacity_rru=1, rru={"hw-b": 7.0}, guest_share=0.1))
    files = dump_region(given)
    found = load_region(files, name="west")
    assert [one.name for one in found.snapshot.guests] == ["cache", "batch"]
    assert [(one.spec, one.owner) for one in found.snapshot.guests] == [
        (one.spec, one.owner) for one in given.snapshot.guests
    ]
    assert found.snapshot.reservations.rru.tolist() == [[0.6, 1.32], [1.0, 0.0]]
    assert_same_image(found, given)
    assert dump_region(found) == files
    for again in (load_region(files, name="west"), load_region(dump_region(image_of(given.snapshot)), name="west")):
        assert_same_snapshot(again.snapshot, given.snapshot)
        assert again.snapshot.resources.names.tolist() == ["cores", "guest:batch", "guest:cache"]


def test_the_files_have_guests_as_rows_and_the_rru_of_whole_servers():
    files = dump_region(image(cache=guest()))
    found = columns(files)
    assert found["reservation"] == ["web", "other", "cache"]
    assert found["guest_of"] == [None, None, "web"]
    assert found["guest_share"] == [None, None, 0.3]
    assert rru(files)["web", "hw-b"] == 2.2
    assert rru(files)["cache", "hw-a"] == 3.3
    assert "guest:" not in str([pq.read_schema(io.BytesIO(files[name])).names for name in files if "parquet" in name])
    assert "guest:" not in str(found)


def test_a_region_without_guests_has_no_columns_for_them():
    assert not {"guest_of", "guest_share"} & columns(dump_region(image())).keys()


@pytest.mark.parametrize(
    ("specs", "field", "told"),
    [
        ({"cache": guest(guest_of="gone")}, "guest_of", "'gone' is not a reservation"),
        ({"cache": guest(guest_of="cache")}, "guest_of", "this reservation itself"),
        ({"cache": guest(), "batch": guest(guest_of="cache")}, "guest_of", "is a guest of web itself"),
        ({"cache": guest(guest_share=0.6), "batch": guest(guest_share=0.5)}, "guest_share", "0.39 of each server"),
        ({"cache": guest(guest_of=None)}, "guest_share", "is of no guest: name its host in guest_of"),
        ({"cache": guest(guest_share=None)}, "guest_share", "guests have at least 0.01"),
        ({"cache": guest(guest_of="other", rru={"hw-b": 1.0})}, "guest_of", "other does not use hw-b"),
        ({"cache": guest(priority=4)}, "priority", "a guest has none of its own"),
        ({"cache": guest(msb_share_max=0.5)}, "msb_share_max", "a guest has none of its own"),
    ],
)
def test_what_cannot_be_a_guest_is_told(specs, field, told):
    files = dump_region(image(**{name: plain(spec) for name, spec in specs.items()}))
    table = pq.read_table(io.BytesIO(files["reservations.parquet"]))
    of = {name: (spec.guest_of, spec.guest_share) for name, spec in specs.items()}
    for k, column in enumerate(("guest_of", "guest_share")):
        values = [of.get(name, (None, None))[k] for name in table["reservation"].to_pylist()]
        table = table.append_column(column, [values])
    stream = io.BytesIO()
    pq.write_table(table, stream)
    with pytest.raises(InterchangeError) as refused:
        load_region(files | {"reservations.parquet": stream.getvalue()})
    problem = refused.value.problems[-1]
    assert problem.field == field, problem
    assert told in problem.message


def test_a_type_that_the_host_does_not_use_any_more_reads():
    given = image(cache=guest(guest_of="other", rru={"hw-a": 3.3, "hw-b": 1.0}))
    found = load_region(dump_region(given), name="west")
    assert [one.spec.rru for one in found.snapshot.guests] == [{"hw-a": 3.3, "hw-b": 1.0}]
    assert_same_image(found, given)


def test_no_server_is_bound_to_a_guest():
    files = dump_region(image(cache=guest()))
    table = pq.read_table(io.BytesIO(files["servers.parquet"]))
    bound = ["cache", *table["reservation"].to_pylist()[1:]]
    stream = io.BytesIO()
    pq.write_table(table.set_column(table.schema.get_field_index("reservation"), "reservation", [bound]), stream)
    with pytest.raises(InterchangeError, match="is a guest: bind the server to its host"):
        load_region(files | {"servers.parquet": stream.getvalue()})


def plain(spec):
    """Return the spec of the row before it is a guest."""
    return replace(spec, guest_of=None, guest_share=None)


def test_a_folder_may_have_the_columns_of_guests_and_no_reservations():
    given = region_image(current={"server-00": "gone"})
    files = dump_region(given)
    table = pq.read_table(io.BytesIO(files["reservations.parquet"]))
    stream = io.BytesIO()
    pq.write_table(table.append_column("guest_of", pa.array([], pa.string())), stream)
    found = load_region(files | {"reservations.parquet": stream.getvalue()}, name="west")
    assert_same_image(found, given)
