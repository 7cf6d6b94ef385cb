"""The pages of a Parquet file, by their own headers: the footer says what the sender likes, pages are what is decoded.

Source: Apache Parquet format, PageHeader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from libs.interchange.parquet_footer import Chunk
from libs.interchange.thrift import Compact, CutOff

_HEADER_BYTES, _HEADER_BYTES_MAX = 1 << 12, 1 << 20
"""Statistics in a header may be long; most are not."""
PAGES_MAX = 100_000
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


def pages_of(stream: BinaryIO, chunk: Chunk) -> Iterator[Page]:
    """Pages of a column chunk, read where a decoder reads them. Raises: ValueError, where there is no page there."""
    # A column of no values has no data page, and says that it begins at 0.
    starts = [chunk.data_page_offset] if chunk.num_values or chunk.data_page_offset else []
    if chunk.dictionary_page_offset:
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
        header = Compact(stream.read(min(most, end - at)))
        try:
            fields = header.struct()
        except CutOff:
            continue
        return header.at, fields
    raise ValueError("a page's header is cut off")
