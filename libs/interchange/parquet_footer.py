"""What a Parquet file's footer says, without the library: on some footers that are damaged it ends the process.

Asking pyarrow for a column chunk's metadata (26.0) raises in C++ where nobody catches, say for size statistics that
do not fit. Source: Apache Parquet format, FileMetaData.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

from libs.interchange.thrift import Compact

FOOTER_BYTES_MAX = 8 << 20
TAIL_BYTES = 8
"""The length of the footer, and PAR1."""
MAGIC = b"PAR1"
BYTE_ARRAY = 6
_ROWS, _GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_ROWS = 1, 3
_METADATA = 3
_TYPE, _PATH, _VALUES, _UNCOMPRESSED, _COMPRESSED, _DATA_AT, _DICTIONARY_AT = 1, 3, 5, 6, 7, 9, 11
Fields = Mapping[int, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A column within a group of rows. Sizes are in bytes; all of it is the sender's word.

    physical_type           as the format numbers them
    dictionary_page_offset  0 where there is none
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
    """rows  the larger of what the file says and what its groups come to."""

    rows: int
    chunks: tuple[Chunk, ...]


def footer_length(stream: BinaryIO) -> int | None:
    """How many bytes the footer says that it has; None where the file does not end as Parquet does."""
    end = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, end - TAIL_BYTES))
    length, magic = int.from_bytes(stream.read(4), "little"), stream.read(4)
    return length if magic == MAGIC else None


def read_footer(stream: BinaryIO) -> Footer:
    """The footer of a file that is not encrypted. Raises: ValueError."""
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
        raise ValueError("a list of it is none")
    return cast("list[Fields]", found)


def _number(fields: Fields, number: int, otherwise: int | None = None) -> int:
    found = fields.get(number, otherwise)
    if not isinstance(found, int) or found < 0:
        raise ValueError("a number of it is none")
    return found
