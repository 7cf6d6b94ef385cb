"""Unpacking gzip from strangers: all members of it, and no more bytes or members than are taken."""

from __future__ import annotations

import io
import zlib
from typing import Any, BinaryIO

MEMBERS_MAX = 100_000
"""Twice as many as the blocks of 64 KiB (BGZF) that hold 2 GB. An empty member is 20 bytes, and takes 10 us."""
_GZIP = zlib.MAX_WBITS | 16
_PIECE = 1 << 16
"""Of what is packed, at a time: what is left of it is copied for each member."""
_CHUNK = 1 << 18


class TooLong(ValueError):
    """It unpacks to more than is taken."""


class Unpacking(io.RawIOBase):
    """The content of all members, one behind the other (RFC 1952, 2.2); zeros behind the last one are padding.

    Reading raises TooLong where it is more than `bytes_max`, ValueError where it is no gzip, is cut off or has more
    than MEMBERS_MAX members.
    """

    def __init__(self, packed: BinaryIO, bytes_max: float) -> None:
        self._stream, self._bytes_max = packed, bytes_max
        self._packed, self._length, self._members = b"", 0, 0
        self._member: Any = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill what there is room for; 0 at the end."""
        while self._more():
            content = self._next(len(buffer))
            if content:
                self._length += len(content)
                if self._length > self._bytes_max:
                    raise TooLong(f"unpacks to more than {self._bytes_max:,} bytes")
                buffer[: len(content)] = content
                return len(content)
        return 0

    def _more(self) -> bool:
        """Whether there is more of this member, or a next one, which is begun."""
        if self._member is None and self._members:
            self._packed = self._packed.lstrip(b"\0")
        while not self._packed:
            self._packed = self._stream.read(_PIECE)
            if not self._packed:
                if self._member is None and self._members:
                    return False
                raise ValueError("is a gzip that is cut off")
            if self._member is None and self._members:
                self._packed = self._packed.lstrip(b"\0")
        if self._member is None:
            self._members += 1
            if self._members > MEMBERS_MAX:
                raise ValueError(f"is a gzip of more than {MEMBERS_MAX:,} members")
            self._member = zlib.decompressobj(wbits=_GZIP)
        return True

    def _next(self, length: int) -> bytes:
        try:
            content: bytes = self._member.decompress(self._packed, length)
        except zlib.error as error:
            raise ValueError(f"is no gzip: {error}") from error
        if self._member.eof:
            self._packed, self._member = self._member.unused_data, None
        else:
            self._packed = self._member.unconsumed_tail
        return content


def gunzip(packed: bytes, bytes_max: int) -> bytes:
    """All of it at once. Raises as Unpacking does."""
    stream, parts = io.BufferedReader(Unpacking(io.BytesIO(packed), bytes_max), _CHUNK), []
    while part := stream.read(_CHUNK):
        parts.append(part)
    return b"".join(parts)
