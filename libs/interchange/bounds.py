"""What a file may hold. A few kilobytes of Parquet can unfold into more than the memory there is."""

from __future__ import annotations

from collections.abc import Collection
from typing import BinaryIO

import pyarrow.parquet as pq

from libs.interchange.errors import InterchangeError, Problem

ROWS_MAX = {
    "servers.parquet": 1_000_000,
    "reservations.parquet": 20_000,
    "rru.parquet": 1_000_000,
    "affinity.parquet": 200_000,
    "assignment.parquet": 1_000_000,
}
ROWS_MAX_OTHERWISE = 50_000_000
"""Of measurements, which come by the minute."""
FILE_BYTES_MAX = 512 << 20
"""Of one file, decompressed."""
JSON_BYTES_MAX = 1 << 20
NAME_CHARACTERS_MAX = 200
COLUMNS_MAX = 1_000
"""Hardware types, and datacenters: a dense array has one column for each, and one row for each reservation."""


def require_decodable(file: str, footer: pq.FileMetaData, fields: Collection[str]) -> None:
    """Refuse, by its footer alone, what would be too much once decoded; only the columns of `fields` count.

    Raises: InterchangeError.
    """
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    chunks = [chunk for chunk in chunks if chunk.path_in_schema in fields]
    rows = max(footer.num_rows, sum(group.num_rows for group in groups))
    rows_max = ROWS_MAX.get(file, ROWS_MAX_OTHERWISE)
    if rows > rows_max:
        raise InterchangeError([Problem(file, None, None, f"has {rows} rows; at most {rows_max} are taken")])
    size = sum(chunk.total_uncompressed_size for chunk in chunks)
    if size > FILE_BYTES_MAX:
        message = f"holds {size >> 20} MiB once decompressed; at most {FILE_BYTES_MAX >> 20} are taken"
        raise InterchangeError([Problem(file, None, None, message)])
    for chunk in chunks:
        # A value in this encoding may repeat most of the one before it without taking space.
        if "DELTA_BYTE_ARRAY" in chunk.encodings:
            message = "is encoded as DELTA_BYTE_ARRAY: write it plain or as a dictionary"
            raise InterchangeError([Problem(file, None, chunk.path_in_schema, message)])


def read_json(stream: BinaryIO, file: str, bytes_max: int = JSON_BYTES_MAX) -> bytes:
    """All of a JSON file. Raises: InterchangeError where it is too long."""
    content = stream.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise InterchangeError([Problem(file, None, None, f"is longer than {bytes_max >> 20} MiB")])
    return content
