"""Reservations in files whose shares of datacenters follow another one."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from tests.libs.interchange.region.test_read import files


def follows(*names):
    return ("reservations.parquet", "affinity_follows", pa.array(names, pa.string()))


def test_the_shares_are_those_of_the_targets_of_the_other_one():
    image = load_region(files([follows(None, "web")]))
    snapshot = image.snapshot
    assert image.reservation_follows.tolist() == [None, "web"]
    share = snapshot.reservations.affinity_share[snapshot.reservations.name.tolist().index("db")]
    assert (share > 0).any()
    again = load_region(dump_region(image))
    assert again.reservation_follows.tolist() == [None, "web"]
    assert again.snapshot.reservations.affinity_share[1].tolist() == share.tolist()


def test_a_region_in_which_none_follows_has_no_column_for_it():
    written = dump_region(load_region(files([])))
    assert "affinity_follows" not in pq.read_schema(io.BytesIO(written["reservations.parquet"])).names


@pytest.mark.parametrize(
    ("names", "row", "told"),
    [
        ((None, "gone"), 1, "'gone' is not a reservation"),
        ((None, "db"), 1, "'db' is the reservation itself"),
        (("db", "web"), 0, "'db' follows another reservation itself"),
    ],
)
def test_what_cannot_be_followed_is_told(names, row, told):
    with pytest.raises(InterchangeError) as refused:
        load_region(files([follows(*names)]))
    problem = refused.value.problems[0]
    assert (problem.field, problem.row) == ("affinity_follows", row)
    assert told in problem.message


def test_a_shared_buffer_is_followed_no_more_in_files_than_over_rest():
    kinds = ("reservations.parquet", "kind", pa.array(["shared_buffer", "guaranteed"]))
    with pytest.raises(InterchangeError) as refused:
        load_region(files([kinds, follows(None, "web")]))
    (problem,) = refused.value.problems
    assert (problem.field, problem.row) == ("affinity_follows", 1)
    assert "'web' is not a guaranteed reservation" in problem.message
