"""Pictures of models and cycles: points beside the line of a fit, and figures over cycles."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from services.pages.parts.pictures import Series
from services.pages.parts.svg import WIDTH, dot, round_up, svg, text
from services.pages.parts.words import number

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 22.0, 44.0
_HEIGHT = 300.0
_LABELS_MAX = 8
Point = tuple[str, float, float]
"""A name, and what the model explains, and what was measured."""


def fit_svg(title: str, points: Sequence[Point]) -> Markup:
    """Return points of measured against explained amounts, the line on which both are equal, and each residual as the
    distance of a point from it.
    """
    top = round_up(max((max(x, y) for _, x, y in points), default=1.0))
    inner = WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + inner[0] * max(x, 0.0) / top, _TOP + inner[1] * (1 - max(y, 0.0) / top)

    shapes = []
    for step in range(5):
        level = top * step / 4
        x, y = at(level, level)
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {y:.1f}H{WIDTH - _RIGHT:.1f}"/>')
        shapes.append(f'<path class="grid" d="M{x:.1f} {_TOP:.1f}V{_HEIGHT - _BOTTOM:.1f}"/>')
        shapes.append(text(_LEFT - 6, y + 4, number(level), "end"))
        shapes.append(text(x, _HEIGHT - 26, number(level), "end" if step == 4 else "middle"))
    (x0, y0), (x1, y1) = at(0, 0), at(top, top)
    shapes.append(f'<path class="l6" stroke-dasharray="5 3" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>')
    for name, explained, measured in points:
        (x, y), (_, line) = at(explained, measured), at(explained, explained)
        tip = f"{name}: measured {number(measured)}, explained {number(explained)}"
        shapes.append(f'<path class="l5" d="M{x:.1f} {line:.1f}V{y:.1f}"/>')
        shapes.append(dot(x, y, "f1", tip, radius=5))
        if len(points) <= _LABELS_MAX:
            shapes.append(text(x - 9, y + 4, name, "end") if x > WIDTH * 0.8 else text(x + 9, y + 4, name, "start"))
    shapes.append(text(WIDTH - _RIGHT, _HEIGHT - 8, "explained by the model", "end"))
    shapes.append(text(4, 12, "measured", "start"))
    return svg(WIDTH, _HEIGHT, title, shapes)


def cycles_svg(title: str, cycles: Sequence[str], series: Sequence[Series]) -> Markup:
    """Return lines over cycles, with a mark at each known figure. A missing figure is a gap.

    cycles   a word for each; each series has a value for each
    """
    values = [value for one in series for value in one.values if value is not None]
    if not values:
        return Markup("")
    top = round_up(max(values))
    top_y, height, bottom = 10.0, 220.0, 30.0
    inner = WIDTH - _LEFT - _RIGHT, height - top_y - bottom

    def x(cycle: int) -> float:
        return _LEFT + inner[0] * (cycle + 0.5) / len(cycles)

    def y(value: float) -> float:
        return top_y + inner[1] * (1 - value / top)

    shapes = []
    for step in range(5):
        level = top * step / 4
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {y(level):.1f}H{WIDTH - _RIGHT:.1f}"/>')
        shapes.append(text(_LEFT - 6, y(level) + 4, number(level), "end"))
    every = -(-len(cycles) // _LABELS_MAX)
    shapes += [text(x(k), height - 14, name, "middle") for k, name in enumerate(cycles) if k % every == 0]
    for one in series:
        path = ""
        for k, value in enumerate(one.values):
            if value is None:
                continue
            joined = k > 0 and one.values[k - 1] is not None
            path += f"{'L' if joined else 'M'}{x(k):.1f} {y(value):.1f}"
        dash = ' stroke-dasharray="5 3"' if one.dashed else ""
        shapes.append(f'<path class="{one.colour}"{dash} d="{path}"/>')
        for k, value in enumerate(one.values):
            if value is not None:
                tip = f"{one.name}, {cycles[k]}: {number(value)}"
                shapes.append(dot(x(k), y(value), one.colour.replace("l", "f"), tip))
    return svg(WIDTH, height, title, shapes)
