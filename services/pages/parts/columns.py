"""Columns of a figure for each day, with a part of it in front. Colours are classes of the stylesheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from services.pages.parts.svg import WIDTH, rectangle, round_up, svg, text
from services.pages.parts.words import number

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 10.0, 26.0
_LABELS_MAX = 8


@dataclass(frozen=True, slots=True)
class Day:
    """A column: the words of its day, the whole, and the part in front."""

    words: str
    whole: int
    part: int


def columns_svg(title: str, days: Sequence[Day], names: tuple[str, str], *, height: float = 220.0) -> Markup:
    """Return the columns. `names` are the words of the whole and of the part."""
    top = max(4.0, round_up(max((one.whole for one in days), default=0)))
    width, inner = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    step = width / max(1, len(days))
    every = -(-len(days) // _LABELS_MAX)
    shapes = []
    for quarter in range(5):
        y = _TOP + inner * (1 - quarter / 4)
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {y:.1f}H{WIDTH - _RIGHT:.1f}"/>')
        shapes.append(text(_LEFT - 6, y + 4, number(top * quarter / 4), "end"))
    for place, one in enumerate(days):
        x = _LEFT + place * step
        if (len(days) - 1 - place) % every == 0:
            shapes.append(text(x + step / 2, height - 8, one.words, "middle"))
        tip = f"{one.words}: {number(one.whole)} {names[0]}, {number(one.part)} {names[1]}"
        for colour, value in (("f1", one.whole), ("f5", one.part)):
            if value:
                tall = inner * value / top
                shapes.append(rectangle(x + step * 0.12, _TOP + inner - tall, step * 0.76, tall, colour, tip))
    return svg(WIDTH, height, title, shapes)
