"""Line charts over cycles: a line per series, and perhaps a box per cycle for a distribution. A picture has one chart,
or several side by side and below each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.pictures.svg import FAINT, FONT, INK, LINES, Drawing, wide

HEIGHT, STEP_LEAST, WIDTH, TOP, TICKS = 260.0, 44.0, 640.0, 72.0, 4
LEFT, BELOW, BETWEEN = 76.0, 40.0, 24.0
HEADING = 34.0
"""Height of the title of a picture with several charts."""
SERIES_MAX = len(LINES)
DOTS_MAX = 40
"""Most cycles at which a chart shows dots, and a word for each. With more, lines alone show the shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """A chart. The scale starts at 0.

    cycles   (C,)  a word below each cycle, oldest first
    series   (L,)  at most SERIES_MAX
    values   (L, C)  at least 0; nan: not known, and the line has a gap there
    boxes    (C, 5)  least, lower quartile, median, upper quartile and most of each cycle; nan: not known
    width    least width in pixels of the part with lines
    """

    title: str
    cycles: Sequence[str]
    series: Sequence[str]
    values: Floats
    percent: bool = False
    unit: str = ""
    boxes: Floats | None = None
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def size(self) -> tuple[float, float]:
        """Return the width and the height in pixels, the title and all words included."""
        legend = sum(30 + 7.0 * len(name) for name in self.series)
        words = max(LEFT + legend, 16 + wide([self.title], 15))
        return max(LEFT + self._step * len(self.cycles), words) + 24, TOP + self.height + BELOW

    @property
    def _step(self) -> float:
        """Pixels from one cycle to the next."""
        even = self.width / max(len(self.cycles), 1)
        return even if self._is_crowded else max(STEP_LEAST, even, 12 + wide(self.cycles, 10))

    @property
    def _is_crowded(self) -> bool:
        return len(self.cycles) > DOTS_MAX

    def draw(self, drawing: Drawing, x: float, y: float) -> None:
        """Draw everything but the title, with the top left at (x, y)."""
        left, bottom, step = x + LEFT, y + TOP + self.height, self._step
        drawing.legend(left, y + 50, self.series, LINES)
        known = self.values if self.boxes is None else np.concatenate([self.values.ravel(), self.boxes.ravel()])
        top = _scale(float(np.nanmax(known)) if np.isfinite(known).any() else 1.0)

        def height_of(value: float) -> float:
            return bottom - self.height * value / top

        def place_of(cycle: int) -> float:
            return left + step * (cycle + 0.5)

        for tick in range(TICKS + 1):
            at = top * tick / TICKS
            drawing.line(left, height_of(at), left + step * len(self.cycles), height_of(at))
            drawing.text(left - 6, height_of(at) + 4, self._figure(at), "end", size=10)
        word_every = max(1, math.ceil((12 + wide(self.cycles, 10)) / step))
        for cycle, name in enumerate(self.cycles):
            if cycle % word_every == 0:
                drawing.text(place_of(cycle), bottom + 16, name, "middle", size=10)
            if self.boxes is not None and np.isfinite(self.boxes[cycle]).all():
                levels = [height_of(float(value)) for value in self.boxes[cycle]]
                _box(drawing, place_of(cycle), levels, name, self._figure(float(self.boxes[cycle][2])))
        for number, name in enumerate(self.series):
            colour, row = LINES[number], self.values[number]
            for run in _runs(row):
                drawing.path([(place_of(c), height_of(float(row[c]))) for c in run], colour, name)
                for cycle in () if self._is_crowded else run:
                    tip = f"{name}, {self.cycles[cycle]}: {self._figure(float(row[cycle]))}"
                    drawing.dot(place_of(cycle), height_of(float(row[cycle])), colour, tip)
        drawing.line(left, bottom, left + step * len(self.cycles), bottom, INK)

    def _figure(self, value: float) -> str:
        if self.percent:
            return f"{value:.1%}"
        return f"{value:,.0f}{self.unit}" if value >= 1000 else f"{value:.3g}{self.unit}"


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
    """Return a picture of one chart as SVG. See LineChart."""
    chart = LineChart(title=title, cycles=cycles, series=series, values=values, percent=percent, unit=unit, boxes=boxes)
    drawing = Drawing(*chart.size, title)
    chart.draw(drawing, 0.0, 0.0)
    return drawing.document()


def charts_svg(title: str, charts: Sequence[LineChart], *, columns: int) -> str:
    """Return a picture of several charts as SVG, row by row from the top left, each with its title."""
    wide_most, high_most = (max(chart.size[i] for chart in charts) for i in (0, 1))
    rows = -(-len(charts) // columns)
    across = BETWEEN + min(columns, len(charts)) * wide_most
    drawing = Drawing(max(across, 32 + wide([title], 15)), HEADING + rows * high_most, title)
    for number, chart in enumerate(charts):
        row, column = divmod(number, columns)
        x, y = column * wide_most, HEADING + row * high_most
        drawing.text(x + 16, y + 26, chart.title, bold=True, size=FONT)
        chart.draw(drawing, x, y)
    return drawing.document()


def _runs(row: Floats) -> Iterator[list[int]]:
    """Return the cycles without a gap between them, run by run."""
    known = np.flatnonzero(np.isfinite(row))
    if len(known):
        yield from (run.tolist() for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1))


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
