"""A time axis on which idle time is short, so that days of waiting do not hide minutes of work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

IDLE_SHARE = 0.1
"""A gap without work is compressed if it is longer than this share of all work."""
_IDLE_WIDTH = 44.0
_PIECES_MAX = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the axis with one scale, in pixels from `left` to `right`."""

    begins: datetime
    ends: datetime
    left: float
    right: float
    idle: bool

    @property
    def seconds(self) -> float:
        """Its length in time."""
        return (self.ends - self.begins).total_seconds()


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The pieces, ascending and without gaps between them."""

    pieces: Sequence[Piece]

    def x(self, at: datetime) -> float:
        """Return the pixel of a time. Times before and after the axis lie on its ends."""
        for piece in self.pieces:
            if at <= piece.ends:
                share = (at - piece.begins).total_seconds() / (piece.seconds or 1.0)
                return piece.left + (piece.right - piece.left) * min(1.0, max(0.0, share))
        return self.pieces[-1].right


def compressed(intervals: Iterable[tuple[datetime, datetime]], left: float, right: float) -> TimeAxis | None:
    """Return an axis over intervals of work; None without any. The longest gaps are compressed, at most some."""
    busy: list[tuple[datetime, datetime]] = []
    for begins, ends in sorted(intervals):
        if busy and begins <= busy[-1][1]:
            busy[-1] = (busy[-1][0], max(busy[-1][1], ends))
        else:
            busy.append((begins, ends))
    if not busy:
        return None
    work_s = sum((ends - begins).total_seconds() for begins, ends in busy)
    gaps = [((after[0] - before[1]).total_seconds(), before[1]) for before, after in pairwise(busy)]
    long = sorted((gap for gap in gaps if gap[0] > IDLE_SHARE * work_s), reverse=True)[: (_PIECES_MAX - 1) // 2]
    idle_from = {at for _, at in long}
    parts: list[tuple[datetime, datetime]] = []
    for begins, ends in busy:
        if parts and parts[-1][1] not in idle_from:
            parts[-1] = (parts[-1][0], ends)
        else:
            parts.append((begins, ends))
    shown_s = sum((ends - begins).total_seconds() for begins, ends in parts) or 1.0
    scale = (right - left - _IDLE_WIDTH * (len(parts) - 1)) / shown_s
    pieces: list[Piece] = []
    at = left
    for begins, ends in parts:
        if pieces:
            pieces.append(Piece(pieces[-1].ends, begins, at, at + _IDLE_WIDTH, idle=True))
            at += _IDLE_WIDTH
        width = scale * (ends - begins).total_seconds()
        pieces.append(Piece(begins, ends, at, at + width, idle=False))
        at += width
    return TimeAxis(pieces)
