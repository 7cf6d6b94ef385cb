"""Count the memory that a file will take once decoded, before decoding it. So a process can bound its memory.

A reader calls `charge` or `held` before it decodes. Nothing is counted unless the caller has called `charging`. A
process that decodes untrusted files calls it. The factors are upper bounds. They were measured with CPython 3.11 and
orjson 3.11 on documents of empty lists, empty objects, short strings, numbers and small objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import BinaryIO, Protocol

CELL_BYTES = 32
"""Bytes of a cell: Arrow's value, NumPy's copy and a mask."""
ROW_OBJECT_BYTES, CELL_OBJECT_BYTES = 250, 100
"""Bytes of a row, and of each of its cells, as a Python dictionary."""
OBJECTS_MAX = 400_000
"""Largest number of objects and lists in one JSON document. The parser blocks all threads until it is done."""
_CHUNK = 1 << 20


class TooLarge(ValueError):
    """The content is too large to decode, even if it has few bytes. The message continues the name of the file."""


class Purse(Protocol):
    """A purse: a counter of the memory that a task may still use."""

    def take(self, size: int) -> None:
        """Take `size` bytes from the purse. Raises an error if fewer bytes are left."""

    def give(self, size: int) -> None:
        """Put `size` bytes back into the purse."""


_PURSE: ContextVar[Purse | None] = ContextVar("purse", default=None)


def charging(purse: Purse) -> None:
    """Charge all further decoding of this task or thread to `purse`."""
    _PURSE.set(purse)


def charge(size: int) -> None:
    """Charge `size` bytes that stay in use until the request is answered."""
    purse = _PURSE.get()
    if purse is not None:
        purse.take(size)


@contextmanager
def held(size: int) -> Iterator[None]:
    """Charge `size` bytes for the duration of the block."""
    purse = _PURSE.get()
    if purse is not None:
        purse.take(size)
    try:
        yield
    finally:
        if purse is not None:
            purse.give(size)


def json_bytes(content: bytes) -> int:
    """Return an upper bound of the memory of a JSON document.

    The bound counts the characters that begin a value, even inside strings.
    """
    count = content.count
    return 2 * len(content) + 64 * count(b",") + 72 * count(b"[") + 96 * count(b"{") + 100 * count(b":")


def objects_in(content: bytes) -> int:
    """Return an upper bound of the number of objects and lists in a JSON document."""
    return content.count(b"{") + content.count(b"[")


def require_few_objects(number: int) -> None:
    """Raise TooLarge if one JSON document has more than OBJECTS_MAX objects and lists."""
    if number > OBJECTS_MAX:
        raise TooLarge(f"has more than {OBJECTS_MAX:,} objects and lists in one document: split it")


def charge_json(content: bytes) -> None:
    """Charge the memory of a document, MiB by MiB.

    Other threads can run in between, and a document that is too large is refused early. Raises TooLarge if it holds
    more than OBJECTS_MAX objects and lists.
    """
    objects = 0
    for at in range(0, len(content), _CHUNK):
        part = content[at : at + _CHUNK]
        objects += objects_in(part)
        require_few_objects(objects)
        charge(json_bytes(part))


def csv_bytes(content: bytes, *, line: int, cell: int) -> int:
    """Return an upper bound of the memory of a CSV table. `line` and `cell` are the bytes to count for each line and
    each cell.
    """
    lines = content.count(b"\n") + content.count(b"\r") + 1
    return 2 * len(content) + line * lines + cell * (lines + content.count(b","))


def charge_csv(stream: BinaryIO, *, line: int = 0, cell: int = CELL_BYTES) -> None:
    """Charge the memory of a CSV table, MiB by MiB, and rewind the stream; `line` and `cell` as in csv_bytes."""
    if _PURSE.get() is None:
        return
    while chunk := stream.read(_CHUNK):
        charge(csv_bytes(chunk, line=line, cell=cell))
    stream.seek(0)


def read_json(stream: BinaryIO, bytes_max: int) -> bytes:
    """Return the content of a stream that is one JSON document, and charge its memory while reading.

    So a document that is too large is refused after its first few MiB. Raises ValueError if it is longer than
    `bytes_max`, and TooLarge if it holds more than OBJECTS_MAX objects and lists.
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
