"""A column without values has no page, and is valid: a region without reservations is written like that."""

import io

from libs.interchange.files.parquet_footer import read_footer
from libs.interchange.files.parquet_pages import pages_of
from libs.interchange.region.write import dump_region
from libs.simulator.fleet import made_up_fleet


def test_a_table_without_rows_can_be_walked() -> None:
    content = dump_region(made_up_fleet("west", servers=24))["reservations.parquet"]
    chunks = read_footer(io.BytesIO(content)).chunks
    assert chunks
    for chunk in chunks:
        list(pages_of(io.BytesIO(content), chunk))
