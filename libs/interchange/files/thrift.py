"""Read Thrift's compact protocol, which encodes the headers and the footer of Parquet.

Source: Apache Thrift, compact protocol.
"""

from __future__ import annotations

_DEPTH_MAX = 8
_BINARY, _LIST, _SET, _STRUCT = 8, 9, 10, 12


class CutOff(ValueError):
    """The struct is longer than the bytes given."""


class Compact:
    """A reader of structs in Thrift's compact protocol. Booleans and doubles are skipped."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at = content, 0

    def struct(self, depth: int = 0) -> dict[int, object]:
        """Return the fields by number: each a number, bytes, a list or a struct. Raises ValueError or CutOff."""
        if depth > _DEPTH_MAX:
            raise ValueError("a header is nested too deep")
        fields: dict[int, object] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in (1, 2):  # a boolean field holds its value in the type
            return None
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            self._skip(8)
            return None
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            return [self._element(head & 15, depth) for _ in range(min(size, len(self._content)))]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("a header has a field of an unknown type")

    def _element(self, kind: int, depth: int) -> object:
        if kind in (1, 2):  # a boolean element takes a byte
            return self._byte()
        return self._value(kind, depth)

    def _byte(self) -> int:
        if self.at >= len(self._content):
            raise CutOff
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
                raise ValueError("a number of a header is too long")

    def _zigzag(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)

    def _skip(self, size: int) -> bytes:
        if size > len(self._content) - self.at:
            raise CutOff
        self.at += size
        return self._content[self.at - size : self.at]
