"""Resources beside RRU in the files of a region."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.domain.resources import RESOURCES_MAX, resources_in
from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from tests.libs.interchange.region.test_read import files

CORES = ("servers.parquet", "resource:cores", pa.array([32.0, 32.0, 32.0, 32.0]))
MEMORY = ("servers.parquet", "memory_gib", pa.array([64.0, 64.0, 64.0, 64.0]))


def asks(*texts):
    return ("reservations.parquet", "resources", pa.array(texts, pa.string()))


def asked_in(snapshot):
    return [resources_in(row, snapshot.resources) for row in snapshot.reservations.resources]


def test_columns_name_the_amounts_and_reservations_ask_for_them():
    image = load_region(files([CORES, MEMORY, asks('{"cores": 100, "memory_gib": 250.5}', None)]))
    snapshot = image.snapshot
    assert asked_in(snapshot) == [{"cores": 100.0, "memory_gib": 250.5}, {}]
    assert snapshot.resources.names.tolist() == ["cores", "memory_gib"]
    for again in (load_region(dump_region(image)), load_region(dump_region(image_of(snapshot)))):
        assert asked_in(again.snapshot) == asked_in(snapshot)
        assert again.snapshot.resources.names.tolist() == ["cores", "memory_gib"]
        assert again.snapshot.resources.amount.tolist() == snapshot.resources.amount.tolist()
        assert again.hardware_type_attributes == image.hardware_type_attributes


def test_a_region_without_resources_has_no_columns_for_them():
    written = dump_region(load_region(files([CORES])))
    assert "resources" not in pq.read_schema(io.BytesIO(written["reservations.parquet"])).names
    assert "resource:cores" not in pq.read_schema(io.BytesIO(written["servers.parquet"])).names


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '["cores"]',
        "cores",
        '{"cores": 0}',
        '{"cores": -1}',
        '{"cores": true}',
        '{"cores": "1"}',
        '{"cores": 1e16}',
        '{"cores": NaN}',
    ],
)
def test_what_a_reservation_asks_for_is_checked(text):
    with pytest.raises(InterchangeError) as refused:
        load_region(files([CORES, asks(text, None)]))
    (problem,) = refused.value.problems
    assert (problem.field, problem.row) == ("resources", 0)
    assert 'such as {"cores": 1000}' in problem.message


def test_an_unknown_resource_is_named_with_the_nearest():
    with pytest.raises(InterchangeError, match="the resource 'core', which is unknown: did you mean cores"):
        load_region(files([CORES, asks('{"core": 1}', None)]))


def test_the_number_of_resources_and_their_names_are_bounded():
    columns = [("servers.parquet", f"resource:r{k}", pa.array([1.0] * 4)) for k in range(RESOURCES_MAX + 1)]
    text = "{" + ", ".join(f'"r{k}": 1' for k in range(RESOURCES_MAX + 1)) + "}"
    with pytest.raises(InterchangeError, match=f"at most {RESOURCES_MAX} resources"):
        load_region(files([*columns, asks(text, None)]))
    for name in ("", "memory GiB", "-cores", "c" * 64, "guest:web"):
        with pytest.raises(InterchangeError, match="1 to 63 letters, digits and"):
            load_region(files([("servers.parquet", f"resource:{name}", pa.array([1.0] * 4))]))
