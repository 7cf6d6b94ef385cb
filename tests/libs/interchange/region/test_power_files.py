"""Watts of types and limits of domains in region folders and replay bundles."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.domain.power import PowerLimit
from libs.domain.reservation import ReservationSpec
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.power_limits import FILE
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from tests.builders.equal import assert_same_snapshot
from tests.builders.region import region_image

LIMITS = (
    PowerLimit(kind="MSB", domain="msb-01", limit_w=1500.0, headroom=0.1),
    PowerLimit(kind="power_row", domain="row-a", limit_w=900.5),
)
WATTS = {"hw-a": {"idle_w": 110.0, "full_w": 330.0}, "hw-b": {"full_w": 500.0, "vcpu": 96.0}}


def powered():
    return region_image(
        msbs=2,
        racks_per_msb=2,
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)},
        attributes=WATTS,
        domains={"power_row": {"server-00": "row-a", "server-05": "row-b"}},
        power_limits=LIMITS,
    )


def rewritten(column, value):
    files = dump_region(powered())
    table = pq.read_table(io.BytesIO(files[FILE]))
    stream = io.BytesIO()
    at = table.schema.get_field_index(column)
    pq.write_table(table.set_column(at, column, pa.array([value] * len(table))), stream)
    return files | {FILE: stream.getvalue()}


def test_watts_and_limits_survive_a_round_trip_through_a_folder_and_a_bundle():
    image = powered()
    read = load_region(dump_region(image), name="west")
    assert read.snapshot.power.limits == LIMITS
    assert read.snapshot.power.idle_w.tolist() == [110.0, 500.0], "a type with one of the two figures has it for both"
    assert read.snapshot.power.full_w.tolist() == [330.0, 500.0]
    assert_same_snapshot(read.snapshot, image.snapshot)
    assert_same_snapshot(load_region(dump_region(image_of(image.snapshot)), name="west").snapshot, image.snapshot)


def test_a_folder_without_watts_and_limits_has_no_power():
    plain = region_image(reservations={})
    assert FILE not in dump_region(plain)
    assert load_region(dump_region(plain)).snapshot.power is None


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("domain", "nowhere", "is no domain of this kind"),
        ("kind", "msb", "'msb' is not a kind with limits: known are MSB"),
        ("limit_w", 0.0, "is not above 0"),
        ("headroom", 0.95, "is not from 0 to 0.9"),
    ],
)
def test_a_bad_limit_is_refused_by_its_row_and_column(column, value, message):
    with pytest.raises(InterchangeError) as refused:
        load_region(rewritten(column, value))
    problem = refused.value.problems[0]
    assert (problem.file, problem.row, problem.field) == (FILE, 0, column)
    assert message in problem.message


def test_a_domain_has_one_limit():
    files = dump_region(powered())
    table = pq.read_table(io.BytesIO(files[FILE]))
    stream = io.BytesIO()
    pq.write_table(pa.concat_tables([table, table]), stream)
    with pytest.raises(InterchangeError, match="has a limit in an earlier row"):
        load_region(files | {FILE: stream.getvalue()})
