"""Read the page headers of a Parquet file. The footer may lie, but a decoder decodes the pages.

Source: Apache Parquet format, PageHeader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from libs.interchange.files.parquet_footer import Chunk
from libs.interchange.files.thrift import Compact, CutOff

_HEADER_BYTES, _HEADER_BYTES_MAX = 1 << 12, 1 << 20
"""Bytes to read for a header: at first, and at most. A few headers hold long statistics."""
PAGES_MAX = 100_000
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _DATA_V2 = 2, 3, 5, 7, 8
_ENCODING = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}
"""Field of the page header -> field of its struct that holds the encoding of the values."""
DELTA_BYTE_ARRAY = 7


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a column.

    bytes       the content, decompressed
    encoding    the number of the encoding of the values in the format; None if the page holds no values
    """

    bytes: int
    encoding: int | None


def pages_of(stream: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """Yield the pages of a column chunk at the places that a decoder reads. Raises ValueError if a page is missing."""
    # A column without values has no data page, and its offset is 0.
    starts = [chunk.data_page_offset] if chunk.num_values or chunk.data_page_offset else []
    if chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    if chunk.num_values == 0:  # a column without rows has only a dictionary, and a data offset of 0
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
    """Return the length of the header at `at`, and its fields."""
    for most in (_HEADER_BYTES, _HEADER_BYTES_MAX):
        stream.seek(at)
        header = Compact(stream.read(min(most, end - at)))
        try:
            fields = header.struct()
        except CutOff:
            continue
        return header.at, fields
    raise ValueError("a page's header is cut off")
