"""Parquet files of a few kilobytes that decode to gigabytes, or whose footers lie."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Row = Mapping[str, float | str]
_GROUP_ROWS = 1_000_000
_LONG_BYTES = 256 << 20
_REPEATED_BYTES, _REPEATED_ROWS = 100_000, 2000


def constant_rows(row: Row, rows: int) -> bytes:
    """Return a file with `rows` copies of the same row."""
    return _written([_table(row, _GROUP_ROWS)] * (rows // _GROUP_ROWS))


def last_row_is_bad(row: Row, rows: int, **bad: float | str) -> bytes:
    """Return a file with `rows` copies of the same row, and a last row with the values of `bad`."""
    groups = [_table(row, min(_GROUP_ROWS, rows - at)) for at in range(0, rows, _GROUP_ROWS)]
    return _written([*groups, _table({**row, **bad}, 1)])


def shared_long_name(row: Row, column: str, rows: int) -> bytes:
    """Return a file with a name of 10 kB, once in its dictionary and used by every row."""
    return _written([_table({**row, column: "n" * 10_000}, rows)])


def names_that_repeat(row: Row, column: str) -> bytes:
    """Return a file with long names, each encoded as equal to the previous one."""
    table = _table({**row, column: "n"}, _REPEATED_ROWS)
    names = pa.array(["n" * _REPEATED_BYTES] * _REPEATED_ROWS)
    table = table.set_column(table.column_names.index(column), column, names)
    return _written([table], use_dictionary=False, column_encoding={column: "DELTA_BYTE_ARRAY"})


def one_long_value(row: Row, column: str) -> bytes:
    """Return a file with one row, whose name of 256 MiB is compressed to some kilobytes."""
    table = _table({**row, column: "n" * _LONG_BYTES}, 1)
    at = table.column_names.index(column)
    return _written([table.set_column(at, column, table.column(at).cast(pa.string()))], use_dictionary=False)


def under_a_false_footer(content: bytes) -> bytes:
    """Return the same file with a footer that gives a small decompressed size for every column."""
    footer = int.from_bytes(content[-8:-4], "little")
    head, tail = content[: -8 - footer], content[-8 - footer :]
    metadata = pq.read_metadata(io.BytesIO(content))
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            told = _varint(2 * metadata.row_group(group).column(column).total_uncompressed_size)
            if len(told) > 2:  # a shorter one is a small size, and may match other parts of the footer
                tail = tail.replace(told, _varint(2 * 50, length=len(told)))
    return head + tail


def _table(row: Row, rows: int) -> pa.Table:
    return pa.table({name: _column(value, rows) for name, value in row.items()})


def _column(value: float | str, rows: int) -> pa.Array:
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))
    return pa.array(np.full(rows, value))


def _written(tables: list[pa.Table], **options: object) -> bytes:
    sink = io.BytesIO()
    given = {"compression": "zstd", "write_statistics": False, "store_schema": False, **options}
    with pq.ParquetWriter(sink, tables[0].schema, **given) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=_GROUP_ROWS)
    return sink.getvalue()


def _varint(number: int, length: int = 0) -> bytes:
    """Return a compact integer of Thrift, padded to `length` bytes with zero bits."""
    found = bytearray()
    while number > 127 or len(found) + 1 < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
