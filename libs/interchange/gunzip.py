"""Unpacking gzip from strangers: all members of it, and no more bytes than are taken."""

from __future__ import annotations

import zlib

_GZIP = zlib.MAX_WBITS | 16


class TooLong(ValueError):
    """It unpacks to more than is taken."""


def gunzip(packed: bytes, bytes_max: int) -> bytes:
    """The content of all members, one behind the other (RFC 1952, 2.2).

    Raises TooLong where it is more than `bytes_max`, ValueError where the content is no gzip or is cut off.
    """
    parts: list[bytes] = []
    left, rest = bytes_max, packed
    while rest or not parts:
        member = zlib.decompressobj(wbits=_GZIP)
        try:
            # One byte more than may come tells whether there is more; 0 would mean without bound.
            parts.append(member.decompress(rest, left + 1))
        except zlib.error as error:
            raise ValueError(f"is no gzip: {error}") from error
        left -= len(parts[-1])
        if left < 0:
            raise TooLong(f"unpacks to more than {bytes_max:,} bytes")
        if not member.eof:
            raise ValueError("is a gzip that is cut off")
        rest = member.unused_data
    return b"".join(parts)
