"""Limits on the size of files: a few kilobytes of Parquet can decode to more than the memory of the machine."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from libs.interchange.files.decoded import CELL_BYTES, charge
from libs.interchange.files.errors import InterchangeError, Problem
from libs.interchange.files.parquet_footer import BYTE_ARRAY, FOOTER_BYTES_MAX, footer_length, read_footer
from libs.interchange.files.parquet_pages import DELTA_BYTE_ARRAY, pages_of

ROWS_MAX = {
    "servers.parquet": 1_000_000,
    "reservations.parquet": 20_000,
    "rru.parquet": 1_000_000,
    "affinity.parquet": 200_000,
    "hardware_types.parquet": 20_000,
    "rru_classes.parquet": 1_000_000,
    "assignment.parquet": 1_000_000,
}
ROWS_MAX_OTHERWISE = 50_000_000
"""Largest number of rows of a file that ROWS_MAX does not name. The limit is high, because measurements arrive by the
minute.
"""
FILE_BYTES_MAX = 512 << 20
"""Largest size of one file, decompressed."""
PAGE_BYTES_MAX = 64 << 20
"""Largest size of one page, decompressed. Writers make pages of 1 MiB; a longer page holds few, very long values."""
_TEXT_FACTOR, _NUMBER_FACTOR = 4, 2
"""Memory per byte of a page: the page and Arrow's column; for text also the encoded text and Python's strings."""
JSON_BYTES_MAX = 1 << 20
NAME_CHARACTERS_MAX = 200
COLUMNS_MAX = 1_000
"""Largest number of hardware types, and of datacenters. Dense arrays have a column for each."""


def open_parquet(file: str, stream: BinaryIO) -> pq.ParquetFile:
    """Open a Parquet file. Raises InterchangeError if its footer is too long. Also raises the errors of pyarrow."""
    length = footer_length(stream)
    if length is not None and length > FOOTER_BYTES_MAX:
        message = (
            f"has a footer of {length >> 20} MiB; at most {FOOTER_BYTES_MAX >> 20} are allowed: write larger groups"
        )
        raise InterchangeError([Problem(file, None, None, message)])
    stream.seek(0)
    return pq.ParquetFile(stream)


def read_columns(
    stream: BinaryIO, footer: pq.ParquetFile, names: Sequence[str], columns: Sequence[str] | None = None
) -> pa.Table:
    """Return columns of a Parquet file, or all; text columns among `names` keep each distinct value once.

    This thread alone reads: another one of pyarrow may still hold buffers of the stream when the interpreter ends, and
    to free them then aborts the process.
    """
    file = pq.ParquetFile(stream, metadata=footer.metadata, read_dictionary=list(names), pre_buffer=False)
    return file.read(columns, use_threads=False)


def require_decodable(file: str, stream: BinaryIO, fields: Collection[str]) -> int:
    """Refuse a file that is too large once decoded, and charge its memory; return its number of rows.

    Only the columns of `fields` count. The footer may lie, so it can only refuse a file early. The sizes in the pages
    decide. Raises InterchangeError.
    """
    try:
        footer = read_footer(stream)
    except ValueError as error:  # also raised for a name that is not UTF-8
        message = f"is not a Parquet file, or is damaged: {error}"
        raise InterchangeError([Problem(file, None, None, message)]) from error
    chunks = [chunk for chunk in footer.chunks if chunk.path in fields]
    rows = footer.rows
    rows_max = ROWS_MAX.get(file, ROWS_MAX_OTHERWISE)
    if rows > rows_max:
        raise InterchangeError([Problem(file, None, None, f"has {rows} rows; at most {rows_max} are allowed")])
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
                    message = f"has a page of {page.bytes >> 20} MiB; at most {PAGE_BYTES_MAX >> 20} are allowed"
                    raise InterchangeError([Problem(file, None, chunk.path, message)])
                # In this encoding, a value may repeat most of the previous value at no cost in bytes.
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
    """Return the table after checking that its rows point into its dictionaries.

    Arrow trusts the indices of a file and would later read outside the dictionary. Raises pa.ArrowInvalid.
    """
    for column in columns.itercolumns():
        if pa.types.is_dictionary(column.type):
            for chunk in column.iterchunks():
                ends = pc.min_max(chunk.indices).as_py()
                if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < len(chunk.dictionary):
                    raise pa.ArrowInvalid("a row points past the end of its column's dictionary")
    return columns


def _require_few_bytes(file: str, size: int) -> None:
    if size > FILE_BYTES_MAX:
        message = f"holds {size >> 20} MiB once decompressed; at most {FILE_BYTES_MAX >> 20} are allowed"
        raise InterchangeError([Problem(file, None, None, message)])


class RepeatedKey(ValueError):
    """An object in JSON has a key twice. One of both values would be lost."""


def parse_json(content: str | bytes) -> Any:
    """Return the value of JSON. Raises ValueError, also if it is nested too deep, and RepeatedKey."""
    try:
        return json.loads(content, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict[str, Any]()
    for key, value in pairs:
        if key in found:
            raise RepeatedKey(f"an object has the key {key[:NAME_CHARACTERS_MAX]!r} twice")
        found[key] = value
    return found


def read_json(stream: BinaryIO, file: str, bytes_max: int = JSON_BYTES_MAX) -> bytes:
    """Return the content of a JSON file. Raises InterchangeError if it is too long."""
    content = stream.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise InterchangeError([Problem(file, None, None, f"is longer than {bytes_max >> 20} MiB")])
    return content
