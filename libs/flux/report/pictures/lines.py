"""Line charts over cycles: a line per series, and perhaps a box per cycle for a distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from libs.domain.arrays import Floats
from libs.flux.report.pictures.svg import FAINT, INK, LINES, Drawing, wide

HEIGHT, STEP_LEAST, WIDTH, TOP, TICKS = 260.0, 44.0, 640.0, 72.0, 4
SERIES_MAX = len(LINES)


def lines_svg(
    title: str,
    cycles: Sequence[str],
    series: Sequence[str],
    values: Floats,
    *,
    percent: bool = False,
    unit: str = "",
    boxes: Floats | None = None,
) -> str:
    """Return a line chart as SVG. The scale starts at 0.

    cycles   (C,)  a word below each cycle, oldest first
    series   (L,)  at most SERIES_MAX
    values   (L, C)  at least 0; nan: not known, and the line has a gap there
    boxes    (C, 5)  least, lower quartile, median, upper quartile and most of each cycle; nan: not known
    """
    step = max(STEP_LEAST, WIDTH / max(len(cycles), 1), 12 + wide(cycles, 10))
    left, bottom = 76.0, TOP + HEIGHT
    legend = sum(30 + 7.0 * len(name) for name in series)
    drawing = Drawing(max(left + step * len(cycles), left + legend, 16 + wide([title], 15)) + 24, bottom + 40, title)
    drawing.legend(left, 50, series, LINES)
    known = values if boxes is None else np.concatenate([values.ravel(), boxes.ravel()])
    top = _scale(float(np.nanmax(known)) if np.isfinite(known).any() else 1.0)

    def figure(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:,.3g}{unit}"

    def y(value: float) -> float:
        return bottom - HEIGHT * value / top

    def x(cycle: int) -> float:
        return left + step * (cycle + 0.5)

    for tick in range(TICKS + 1):
        at = top * tick / TICKS
        drawing.line(left, y(at), left + step * len(cycles), y(at))
        drawing.text(left - 6, y(at) + 4, figure(at), "end", size=10)
    for cycle, name in enumerate(cycles):
        drawing.text(x(cycle), bottom + 16, name, "middle", size=10)
        if boxes is not None and np.isfinite(boxes[cycle]).all():
            _box(drawing, x(cycle), [y(float(value)) for value in boxes[cycle]], name, figure(float(boxes[cycle][2])))
    for number, name in enumerate(series):
        colour, row = LINES[number], values[number]
        for cycle in range(len(cycles)):
            if not np.isfinite(row[cycle]):
                continue
            if cycle and np.isfinite(row[cycle - 1]):
                drawing.line(x(cycle - 1), y(float(row[cycle - 1])), x(cycle), y(float(row[cycle])), colour, 2)
            drawing.dot(x(cycle), y(float(row[cycle])), colour, f"{name}, {cycles[cycle]}: {figure(float(row[cycle]))}")
    drawing.line(left, bottom, left + step * len(cycles), bottom, INK)
    return drawing.document()


def _box(drawing: Drawing, x: float, y: Sequence[float], name: str, median: str) -> None:
    least, lower, middle, upper, most = y
    drawing.line(x, least, x, most, INK)
    drawing.rectangle(x - 9, upper, 18, max(lower - upper, 1.0), FAINT, f"{name}: the median is {median}")
    drawing.outline(x - 9, upper, 18, max(lower - upper, 1.0))
    for at in (least, middle, most):
        drawing.line(x - 9, at, x + 9, at, INK)


def _scale(largest: float) -> float:
    """Return the end of the scale: 1, 2, 4 or 5 times a power of ten, at least the largest value."""
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(times * power for times in (1, 2, 4, 5, 10) if times * power >= largest * (1 - 1e-9))
