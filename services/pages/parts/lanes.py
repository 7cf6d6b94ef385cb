"""Lanes over a compressed time axis: what ran, what runs, and what is expected, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup, escape

from services.pages.parts.pictures import ticks
from services.pages.parts.svg import rectangle, svg, text
from services.pages.parts.time_axis import TimeAxis, compressed
from services.pages.parts.words import duration, moment_text

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 1200.0, 300.0, 14.0, 40.0, 22.0
_TICK_GAP = 76.0
_LABEL_MAX = 44


@dataclass(frozen=True, slots=True)
class Bar:
    """A time in a lane, with its class (f0 to f6, or expected) and the sentence behind it."""

    begins: datetime
    ends: datetime
    colour: str
    tip: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A row of the picture. `strong`: it is on the critical path."""

    name: str
    bars: Sequence[Bar]
    strong: bool = False


def lanes_svg(title: str, lanes: Sequence[Lane], now: datetime) -> Markup | None:
    """Return the picture; None if no lane has a bar."""
    times = [(bar.begins, bar.ends) for lane in lanes for bar in lane.bars]
    axis = compressed(times, _LEFT, _WIDTH - _RIGHT)
    if axis is None:
        return None
    height = _TOP + _ROW * len(lanes) + 10
    shapes = _axis(axis, height, now)
    for row, lane in enumerate(lanes):
        y = _TOP + _ROW * row
        name = lane.name if len(lane.name) <= _LABEL_MAX else f"{lane.name[: _LABEL_MAX - 1]}…"
        mark = "◆ " if lane.strong else ""
        words = f'<text x="{_LEFT - 10:.1f}" y="{y + 15:.1f}" text-anchor="end">{escape(mark + name)}'
        shapes.append(f"{words}<title>{escape(lane.name)}</title></text>")
        for bar in lane.bars:
            left = axis.x(bar.begins)
            width = max(2.0, axis.x(bar.ends) - left)
            shapes.append(rectangle(left, y + 4, width, _ROW - 8, bar.colour, f"{lane.name}: {bar.tip}"))
    if axis.pieces[0].begins <= now <= axis.pieces[-1].ends:
        x = axis.x(now)
        shapes.append(f'<path class="now" d="M{x:.1f} {_TOP - 6:.1f}V{height - 4:.1f}"/>')
        shapes.append(f'<text class="now" x="{x:.1f}" y="{_TOP - 26:.1f}" text-anchor="middle">now</text>')
    return svg(_WIDTH, height, title, shapes)


def _axis(axis: TimeAxis, height: float, now: datetime) -> list[str]:
    shapes = []
    labelled = -_TICK_GAP
    for piece in axis.pieces:
        if piece.idle:
            tip = f"Nothing ran for {duration(piece.seconds)}"
            shapes.append(rectangle(piece.left + 4, _TOP, piece.right - piece.left - 8, height - _TOP - 4, "idle", tip))
            shapes.append(text((piece.left + piece.right) / 2, _TOP - 10, duration(piece.seconds), "middle"))
            labelled = piece.right
            continue
        for at, words in ticks(piece.begins, piece.ends):
            x = axis.x(at)
            if x - labelled < _TICK_GAP / 2 or x > _WIDTH - _RIGHT - 20:
                continue
            shapes.append(f'<path class="grid" d="M{x:.1f} {_TOP - 4:.1f}V{height - 4:.1f}"/>')
            shapes.append(text(x, _TOP - 10, words, "middle"))
            labelled = x
    first, last = axis.pieces[0].begins, axis.pieces[-1].ends
    shapes.append(text(0, 12, f"{moment_text(first, now)} to {moment_text(last, now)}", "start"))
    return shapes
