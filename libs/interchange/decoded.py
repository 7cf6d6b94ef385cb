"""What files take in memory once they are decoded: said before they are, to those who have to bound it.

A reader calls `charge` or `held` before it decodes. Nothing counts unless the caller has asked for it by `charging`,
as a process does that decodes for strangers. The factors are upper bounds, measured with CPython 3.11 and orjson 3.11
on documents of empty lists, empty objects, short strings, numbers and small objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import BinaryIO, Protocol

CELL_BYTES = 32
"""Of a column's cell: the one that Arrow decodes, NumPy's copy and a mask."""
ROW_OBJECT_BYTES, CELL_OBJECT_BYTES = 250, 100
"""Of rows as dictionaries in Python."""
OBJECTS_MAX = 400_000
"""Objects and lists of one JSON document: a parser lets no other thread run until it has made all of them."""
_CHUNK = 1 << 20


class TooLarge(ValueError):
    """It holds more than is decoded at a time, however few bytes it is. The message reads on from its name."""


class Purse(Protocol):
    """Who counts."""

    def take(self, size: int) -> None:
        """Count so many bytes. Raises where there are not so many left."""

    def give(self, size: int) -> None:
        """They are free again."""


_PURSE: ContextVar[Purse | None] = ContextVar("purse", default=None)


def charging(purse: Purse) -> None:
    """From now on, what this task or thread decodes counts."""
    _PURSE.set(purse)


def charge(size: int) -> None:
    """Count what stays in memory until the request is answered."""
    purse = _PURSE.get()
    if purse is not None:
        purse.take(size)


@contextmanager
def held(size: int) -> Iterator[None]:
    """Count what is free again at the end of the block."""
    purse = _PURSE.get()
    if purse is not None:
        purse.take(size)
    try:
        yield
    finally:
        if purse is not None:
            purse.give(size)


def json_bytes(content: bytes) -> int:
    """What a JSON document takes at most: by the characters that begin a value, also where they are within a text."""
    count = content.count
    return 2 * len(content) + 64 * count(b",") + 72 * count(b"[") + 96 * count(b"{") + 100 * count(b":")


def objects_in(content: bytes) -> int:
    """How many objects and lists a JSON document holds at most."""
    return content.count(b"{") + content.count(b"[")


def require_few_objects(number: int) -> None:
    """Raises TooLarge where one JSON document has more objects and lists than are decoded at a time."""
    if number > OBJECTS_MAX:
        raise TooLarge(f"has more than {OBJECTS_MAX:,} objects and lists in one document: split it")


def charge_json(content: bytes) -> None:
    """Count what a document takes, MiB by MiB: other threads run in between, and a bomb is refused at its beginning.

    Raises TooLarge where it holds more objects than are decoded at a time.
    """
    objects = 0
    for at in range(0, len(content), _CHUNK):
        part = content[at : at + _CHUNK]
        objects += objects_in(part)
        require_few_objects(objects)
        charge(json_bytes(part))


def csv_bytes(content: bytes, *, line: int, cell: int) -> int:
    """What a CSV table takes at most, by so many bytes for a line and a cell."""
    lines = content.count(b"\n") + content.count(b"\r") + 1
    return 2 * len(content) + line * lines + cell * (lines + content.count(b","))


def charge_csv(stream: BinaryIO, *, line: int = 0, cell: int = CELL_BYTES) -> None:
    """Count a CSV table, MiB by MiB, by so many bytes for a line and a cell, and go back to its beginning."""
    if _PURSE.get() is None:
        return
    while chunk := stream.read(_CHUNK):
        charge(csv_bytes(chunk, line=line, cell=cell))
    stream.seek(0)


def read_json(stream: BinaryIO, bytes_max: int) -> bytes:
    """All of a stream that is one JSON document, counted as it comes with all that it will become.

    So a bomb is refused after its first few MiB. Raises ValueError where it is longer, TooLarge where it holds more
    objects than are decoded at a time.
    """
    parts, length, objects = [], 0, 0
    while chunk := stream.read(_CHUNK):
        objects += objects_in(chunk)
        require_few_objects(objects)
        charge(2 * len(chunk) + json_bytes(chunk))
        parts.append(chunk)
        length += len(chunk)
        if length > bytes_max:
            raise ValueError(f"is one document of more than {bytes_max >> 20} MiB: split it")
    return b"".join(parts)
