"""The pages of a Parquet file, by their own headers: the footer says what the sender likes, pages are what is decoded.

Source: Apache Parquet format, PageHeader; Apache Thrift, compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow.parquet as pq

_HEADER_BYTES, _HEADER_BYTES_MAX = 1 << 12, 1 << 20
"""Statistics in a header may be long; most are not."""
PAGES_MAX = 100_000
_DEPTH_MAX = 8
_BINARY, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8
_ENCODING = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}
"""Page header's field -> the field of that struct that says the encoding of values."""
DELTA_BYTE_ARRAY = 7


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a column.

    bytes       decompressed
    encoding    of its values, as the format numbers them; None where the page holds none
    """

    bytes: int
    encoding: int | None


def pages_of(stream: BinaryIO, chunk: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """Pages of a column chunk, read where a decoder reads them. Raises: ValueError, where there is no page there."""
    # A column of no values has no data page, and says that it begins at 0.
    starts = [chunk.data_page_offset] if chunk.num_values or chunk.data_page_offset else []
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    if chunk.num_values == 0:  # a column without rows has a dictionary alone, and 0 for the place of its data
        starts = [start for start in starts if start > 0]
    at = min(starts, default=0)
    end = at + chunk.total_compressed_size
    for _ in range(PAGES_MAX):
        if at >= end:
            return
        length, fields = _header(stream, at, end)
        size, packed = fields.get(_UNCOMPRESSED), fields.get(_COMPRESSED)
        if not isinstance(size, int) or not isinstance(packed, int) or size < 0 or packed < 0:
            raise ValueError("a page has no size")
        encoding = None
        for kind, number in _ENCODING.items():
            values = fields.get(kind)
            if isinstance(values, dict):
                found = values.get(number)
                encoding = found if isinstance(found, int) else None
        yield Page(size, encoding)
        at += length + packed
    raise ValueError(f"has more than {PAGES_MAX:,} pages in a column")


def _header(stream: BinaryIO, at: int, end: int) -> tuple[int, dict[int, object]]:
    """The length of the header that begins there, and its fields."""
    for most in (_HEADER_BYTES, _HEADER_BYTES_MAX):
        stream.seek(at)
        header = _Compact(stream.read(min(most, end - at)))
        try:
            fields = header.struct()
        except _CutOff:
            continue
        return header.at, fields
    raise ValueError("a page's header is cut off")


class _CutOff(ValueError):
    """There are more bytes of it than were read."""


class _Compact:
    """A struct in Thrift's compact protocol: numbers and structs are kept, the rest is skipped."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at = content, 0

    def struct(self, depth: int = 0) -> dict[int, object]:
        """Field number -> its number or struct. Raises: ValueError."""
        if depth > _DEPTH_MAX:
            raise ValueError("a page's header is nested too deep")
        fields: dict[int, object] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in (1, 2):  # true and false are in the type itself
            return None
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            self._skip(8)
            return None
        if kind == _BINARY:
            self._skip(self._varint())
            return None
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            for _ in range(min(size, len(self._content))):
                self._element(head & 15, depth)
            return None
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("a page's header holds what no header does")

    def _element(self, kind: int, depth: int) -> None:
        if kind in (1, 2):  # as an element they take a byte
            self._byte()
        else:
            self._value(kind, depth)

    def _byte(self) -> int:
        if self.at >= len(self._content):
            raise _CutOff
        self.at += 1
        return self._content[self.at - 1]

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("a number of a page's header is too long")

    def _zigzag(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _skip(self, size: int) -> None:
        if size > len(self._content) - self.at:
            raise _CutOff
        self.at += size
