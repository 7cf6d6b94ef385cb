"""A column without values has no page, and is no damage: a region of which nothing is reserved is written so."""

import io

import pyarrow.parquet as pq

from libs.interchange.parquet_pages import pages_of
from libs.interchange.region_files import dump_region
from libs.simulator.fleet import made_up_fleet


def test_a_table_without_rows_can_be_walked() -> None:
    content = dump_region(made_up_fleet("west", servers=24))["reservations.parquet"]
    group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    for number in range(group.num_columns):
        list(pages_of(io.BytesIO(content), group.column(number)))
