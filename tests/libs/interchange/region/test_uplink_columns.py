"""Uplinks of racks and the traffic of reservations in the files of a region."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from libs.interchange.files.errors import InterchangeError
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from tests.libs.interchange.region.test_read import files

PLACE = {"datacenter": "dc-0", "msb": "m0", "rack": "k0"}


def limits(*values):
    return ("servers.parquet", "uplink_gbit", pa.array(values, pa.float64()))


def sends(*values):
    return ("reservations.parquet", "gbit_per_rru", pa.array(values, pa.float64()))


def test_limits_of_racks_and_the_traffic_of_reservations_come_back_from_their_columns() -> None:
    plain = load_region(files()).snapshot
    each = np.where(plain.servers.rack == plain.servers.rack[0], 40.0, np.nan)
    given = [None if np.isnan(one) else one for one in each]
    image = load_region(files([limits(*given), sends(0.0, 2.5)]))
    snapshot = image.snapshot
    wanted = np.full(len(plain.topology.racks), np.inf)
    wanted[plain.servers.rack[0]] = 40.0
    assert snapshot.uplinks.tolist() == wanted.tolist()
    assert snapshot.reservations.gbit_per_rru.tolist() == [0.0, 2.5]
    again = load_region(dump_region(image)).snapshot
    assert again.uplinks.tolist() == wanted.tolist()
    assert again.reservations.gbit_per_rru.tolist() == [0.0, 2.5]


def test_a_region_without_them_is_written_as_before() -> None:
    written = dump_region(load_region(files()))
    assert load_region(files()).snapshot.uplinks is None
    assert "uplink_gbit" not in pq.read_schema(io.BytesIO(written["servers.parquet"])).names
    assert "gbit_per_rru" not in pq.read_schema(io.BytesIO(written["reservations.parquet"])).names


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (limits(1.0, 2.0, 3.0, 4.0), "this rack has another limit in other rows"),
        (limits(0.0, 0.0, 0.0, 0.0), "is not above 0 and at most 1e\\+06"),
        (limits(2e6, 2e6, 2e6, 2e6), "is not above 0 and at most 1e\\+06"),
        (sends(0.0, 1e5), "is above 10000"),
        (sends(0.0, -1.0), "is less than 0"),
    ],
)
def test_wrong_figures_are_refused_with_their_column(column, message) -> None:
    with pytest.raises(InterchangeError, match=message) as refused:
        load_region(files([column]))
    assert column[1] in str(refused.value)


@pytest.mark.parametrize("wrong", [0, 1, 3])
def test_one_wrong_limit_is_reported_in_its_own_row_alone(wrong: int) -> None:
    """All four servers are in one rack. The others agree, so the one that differs is wrong, also in the first row."""
    given = [10.0] * 4
    given[wrong] = 100.0
    one_rack = [("servers.parquet", field, [name] * 4) for field, name in PLACE.items()]
    with pytest.raises(InterchangeError) as refused:
        load_region(files([*one_rack, limits(*given)]))
    said = f"servers.parquet, uplink_gbit, row {wrong}: this rack has another limit in other rows"
    assert [line for line in str(refused.value).splitlines() if "uplink_gbit" in line] == [said]
