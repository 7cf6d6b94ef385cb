"""Read the footer of a Parquet file without pyarrow, because some damaged footers make pyarrow end the process.

Column chunk metadata in pyarrow (26.0) may raise a C++ exception that nothing catches, for example for size statistics
that do not fit. Source: Apache Parquet format, FileMetaData.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from libs.interchange.files.thrift import Compact

FOOTER_BYTES_MAX = 8 << 20
TAIL_BYTES = 8
"""Bytes of the tail: the length of the footer, and PAR1."""
MAGIC = b"PAR1"
BYTE_ARRAY = 6
_ROWS, _GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_METADATA = 3
_TYPE, _PATH, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT = 1, 3, 5, 6, 7, 9, 11
Fields = Mapping[int, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A column within a row group. Sizes are in bytes, as the sender states them.

    physical_type           the number of the type in the format
    dictionary_page_offset  0 if there is none
    """

    path: str
    physical_type: int
    num_values: int
    total_uncompressed_size: int
    total_compressed_size: int
    data_page_offset: int
    dictionary_page_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The footer. `rows` is the larger of the file's count and the sum over its row groups."""

    rows: int
    chunks: tuple[Chunk, ...]


def footer_length(stream: BinaryIO) -> int | None:
    """Return the stated length of the footer; None if the file does not end as Parquet does."""
    end = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, end - TAIL_BYTES))
    length, magic = int.from_bytes(stream.read(4), "little"), stream.read(4)
    return length if magic == MAGIC else None


def read_footer(stream: BinaryIO) -> Footer:
    """Return the footer of an unencrypted file. Raises ValueError."""
    length = footer_length(stream)
    end = stream.seek(0, os.SEEK_END)
    if length is None or not 0 < length <= min(FOOTER_BYTES_MAX, end - TAIL_BYTES):
        raise ValueError("it has no footer")
    stream.seek(end - TAIL_BYTES - length)
    fields = Compact(stream.read(length)).struct()
    groups = _structs(fields, _GROUPS)
    chunks = [_chunk(column) for group in groups for column in _structs(group, _GROUP_COLUMNS)]
    rows = max(_number(fields, _ROWS), sum(_number(group, _GROUP_ROWS) for group in groups))
    return Footer(rows=rows, chunks=tuple(chunks))


def _chunk(column: Fields) -> Chunk:
    metadata = column.get(_METADATA)
    if not isinstance(metadata, dict):
        raise ValueError("a column has no metadata")
    path = metadata.get(_PATH)
    if not isinstance(path, list) or not all(isinstance(part, bytes) for part in path):
        raise ValueError("a column has no name")
    return Chunk(
        path=b".".join(path).decode(),
        physical_type=_number(metadata, _TYPE),
        num_values=_number(metadata, _VALUES),
        total_uncompressed_size=_number(metadata, _UNCOMPRESSED),
        total_compressed_size=_number(metadata, _COMPRESSED),
        data_page_offset=_number(metadata, _DATA_AT),
        dictionary_page_offset=_number(metadata, _DICTIONARY_AT, 0),
    )


def _structs(fields: Fields, number: int) -> list[Fields]:
    found = fields.get(number)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("its footer lacks a list")
    return cast("list[Fields]", found)


def _number(fields: Fields, number: int, otherwise: int | None = None) -> int:
    found = fields.get(number, otherwise)
    if not isinstance(found, int) or found < 0:
        raise ValueError("its footer lacks a number, or has a negative one")
    return found
