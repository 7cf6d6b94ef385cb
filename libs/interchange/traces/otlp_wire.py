"""Find the resources, scopes and spans of an OTLP export in protobuf, and count them, without decoding the spans.

An empty span is two bytes, so an export of 6 MiB may hold three million. They are counted here, before a parser makes
an object of each. A span is decoded only when it is read, so no decoder runs for long.

Source: Protocol Buffers, Encoding; opentelemetry/proto/trace/v1/trace.proto for the numbers of fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from libs.interchange.files.decoded import TooLarge

PARTS_MAX = 100_000
"""Largest number of resources, scopes and spans of one export. A Collector's batch has 8,192 spans."""
PART_BYTES_MAX = 256 << 10
"""Largest size of one span, and of the description of one resource."""
_PART_BYTES, _DECODED_FACTOR = 600, 82
_Part = TypeVar("_Part")
_RESOURCE_SPANS, _RESOURCE, _SCOPE_SPANS, _SPAN = 1, 1, 2, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(slots=True)
class ResourceParts:
    """A ResourceSpans message: the encoded Resource, and the encoded spans of each scope."""

    resource: bytes
    scopes: list[list[bytes]]


def split_export(content: bytes) -> list[ResourceParts]:
    """Return the parts of an ExportTraceServiceRequest, in order.

    Raises ValueError if it is not such a request, and TooLarge if it has more than PARTS_MAX parts.
    """
    left = _Count()
    return [_split_resource(content, *at, left) for at in left.all(_fields(content, 0, len(content), _RESOURCE_SPANS))]


def decoded_bytes(content: bytes) -> int:
    """Return an upper bound of the memory of an export: its parts, their rows, and the span being decoded."""
    size = len(content)
    return 2 * size + _PART_BYTES * min(size // 2, PARTS_MAX) + _DECODED_FACTOR * min(size, PART_BYTES_MAX)


def _split_resource(content: bytes, start: int, end: int, left: _Count) -> ResourceParts:
    # A message that appears twice is one message with the fields of both.
    resource = b"".join([content[a:b] for a, b in _fields(content, start, end, _RESOURCE)])
    if len(resource) > PART_BYTES_MAX:
        raise TooLarge(f"has a resource of more than {PART_BYTES_MAX >> 10} KiB")
    scopes = [
        left.all(content[a:b] for a, b in _fields(content, *at, _SPAN))
        for at in left.all(_fields(content, start, end, _SCOPE_SPANS))
    ]
    return ResourceParts(resource, scopes)


class _Count:
    """A counter of parts over a whole export."""

    def __init__(self) -> None:
        self._left = PARTS_MAX

    def all(self, parts: Iterator[_Part]) -> list[_Part]:
        """Return the parts as a list; reads at most one part too many. Raises TooLarge."""
        found = list(islice(parts, self._left + 1))
        self._left -= len(found)
        if self._left < 0:
            raise TooLarge(f"has more than {PARTS_MAX:,} resources, scopes and spans")
        return found


def _fields(content: bytes, start: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each value of one field of a message, which lies between `start` and `end`.

    Raises ValueError if the message is damaged.
    """
    wanted, at = number << 3 | _BYTES, start
    while at < end:
        key = content[at]
        if key < 128:
            at += 1
        else:
            key, at = _varint(content, at, end)
        wire = key & 7
        if wire == _BYTES:
            if at < end and (length := content[at]) < 128:  # the usual case, without a call
                at += 1
            else:
                length, at = _varint(content, at, end)
            if key == wanted and at + length <= end:
                yield at, at + length
            at += length
        elif wire == _VARINT:
            _, at = _varint(content, at, end)
        elif wire == _FIXED64:
            at += 8
        elif wire == _FIXED32:
            at += 4
        else:
            raise ValueError("has a field of an unknown kind")
    if at > end:
        raise ValueError("is cut off")


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number and the place after it. Raises ValueError if it is longer than ten bytes or cut off."""
    value = shift = 0
    for place in range(at, min(at + 10, end)):
        byte = content[place]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place + 1
        shift += 7
    raise ValueError("is cut off")
