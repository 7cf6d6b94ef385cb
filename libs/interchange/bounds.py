"""What a file may hold. A few kilobytes of Parquet can unfold into more than the memory there is."""

from __future__ import annotations

from collections.abc import Collection
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from libs.interchange.decoded import CELL_BYTES, charge
from libs.interchange.errors import InterchangeError, Problem
from libs.interchange.parquet_footer import BYTE_ARRAY, FOOTER_BYTES_MAX, footer_length, read_footer
from libs.interchange.parquet_pages import DELTA_BYTE_ARRAY, pages_of

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
PAGE_BYTES_MAX = 64 << 20
"""Of one page, decompressed: writers make them of 1 MiB, so that a longer one is of few values, each very long."""
_TEXT_FACTOR, _NUMBER_FACTOR = 4, 2
"""A column's pages, Arrow's columns of them, and of texts the encoded ones and those of Python."""
JSON_BYTES_MAX = 1 << 20
NAME_CHARACTERS_MAX = 200
COLUMNS_MAX = 1_000
"""Hardware types, and datacenters: a dense array has one column for each, and one row for each reservation."""


def open_parquet(file: str, stream: BinaryIO) -> pq.ParquetFile:
    """Open a Parquet file whose footer is not too much by itself. Raises: InterchangeError; what pyarrow raises."""
    length = footer_length(stream)
    if length is not None and length > FOOTER_BYTES_MAX:
        message = f"has a footer of {length >> 20} MiB; at most {FOOTER_BYTES_MAX >> 20} are taken: write larger groups"
        raise InterchangeError([Problem(file, None, None, message)])
    stream.seek(0)
    return pq.ParquetFile(stream)


def require_decodable(file: str, stream: BinaryIO, fields: Collection[str]) -> int:
    """Refuse what would be too much once decoded, and charge the rest; only the columns of `fields` count.

    The footer is the sender's word: it refuses early, and what counts is what the pages themselves say. Returns how
    many rows there are. Raises: InterchangeError.
    """
    try:
        footer = read_footer(stream)
    except ValueError as error:  # a name that is not UTF-8 as well
        message = f"is not a Parquet file, or is damaged: {error}"
        raise InterchangeError([Problem(file, None, None, message)]) from error
    chunks = [chunk for chunk in footer.chunks if chunk.path in fields]
    rows = footer.rows
    rows_max = ROWS_MAX.get(file, ROWS_MAX_OTHERWISE)
    if rows > rows_max:
        raise InterchangeError([Problem(file, None, None, f"has {rows} rows; at most {rows_max} are taken")])
    _require_few_bytes(file, sum(chunk.total_uncompressed_size for chunk in chunks))
    size = taken = 0
    for chunk in chunks:
        factor = _TEXT_FACTOR if chunk.physical_type == BYTE_ARRAY else _NUMBER_FACTOR
        try:
            for page in pages_of(stream, chunk):
                size += page.bytes
                taken += factor * page.bytes
                _require_few_bytes(file, size)
                if page.bytes > PAGE_BYTES_MAX:
                    message = f"has a page of {page.bytes >> 20} MiB; at most {PAGE_BYTES_MAX >> 20} are taken"
                    raise InterchangeError([Problem(file, None, chunk.path, message)])
                # A value in this encoding may repeat most of the one before it without taking space.
                if page.encoding == DELTA_BYTE_ARRAY:
                    message = "is encoded as DELTA_BYTE_ARRAY: write it plain or as a dictionary"
                    raise InterchangeError([Problem(file, None, chunk.path, message)])
        except ValueError as error:
            message = f"is not a Parquet file, or is damaged: {error}"
            raise InterchangeError([Problem(file, None, chunk.path, message)]) from error
    stream.seek(0)
    columns = len({chunk.path for chunk in chunks})
    charge(taken + rows * columns * CELL_BYTES)
    return rows


def with_indices_in_bounds(columns: pa.Table) -> pa.Table:
    """The table. Arrow takes a file's word that its rows point into its dictionaries; later it reads where they point.

    Raises: pa.ArrowInvalid.
    """
    for column in columns.itercolumns():
        if pa.types.is_dictionary(column.type):
            for chunk in column.iterchunks():
                ends = pc.min_max(chunk.indices).as_py()
                if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < len(chunk.dictionary):
                    raise pa.ArrowInvalid("a row points behind its column's dictionary")
    return columns


def _require_few_bytes(file: str, size: int) -> None:
    if size > FILE_BYTES_MAX:
        message = f"holds {size >> 20} MiB once decompressed; at most {FILE_BYTES_MAX >> 20} are taken"
        raise InterchangeError([Problem(file, None, None, message)])


def read_json(stream: BinaryIO, file: str, bytes_max: int = JSON_BYTES_MAX) -> bytes:
    """All of a JSON file. Raises: InterchangeError where it is too long."""
    content = stream.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise InterchangeError([Problem(file, None, None, f"is longer than {bytes_max >> 20} MiB")])
    return content
