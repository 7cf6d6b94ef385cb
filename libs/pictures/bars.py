"""Bar charts. Each row has one or more bars, and a bar may stack several series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.domain.arrays import Floats
from libs.pictures.svg import INK, SERIES, Drawing, wide

WIDTH, BAR, GAP, TOP = 520.0, 11.0, 9.0, 64.0


def bars_svg(
    title: str,
    rows: Sequence[str],
    series: Sequence[str],
    values: Floats,
    *,
    notes: Sequence[str] = (),
    stacked: Sequence[Sequence[int]] = (),
    percent: bool = False,
) -> str:
    """Return a chart of horizontal bars as SVG.

    values   (rows, series)  at least 0; nan: not known, allowed only for a series with a bar of its own
    notes    a word at the right of each row
    stacked  groups of series that share a bar, in order; empty: each series has a bar of its own
    """
    groups = [list(g) for g in stacked] or [[i] for i in range(len(series))]
    step = BAR * len(groups) + GAP
    left = 24 + wide(rows)
    parts_most = max(map(len, groups), default=1)
    beside = 60 + 90 * (parts_most - 1)
    drawing = Drawing(left + WIDTH + beside + 20 + wide(notes, 10), TOP + step * max(len(rows), 1) + 16, title)
    drawing.legend(left, 46, series)
    largest = max((float(np.nansum(values[:, g], 1).max(initial=0.0)) for g in groups), default=0.0) or 1.0

    def figure(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:,.1f}"

    for at, name in enumerate(rows):
        y = TOP + at * step
        drawing.text(left - 8, y + BAR * len(groups) / 2 + 4, name, "end")
        for number, group in enumerate(groups):
            x = left
            for i in group:
                value = float(values[at, i])
                if np.isnan(value):
                    continue
                said = f"{value:.1%}" if percent else f"{value:,.2f}"
                width = WIDTH * value / largest
                drawing.rectangle(x, y + number * BAR, width, BAR - 1, SERIES[i], f"{name}, {series[i]}: {said}")
                x += width
            first, *rest = (float(values[at, i]) for i in group)
            more = [f" + {figure(value)} {series[i]}" for i, value in zip(group[1:], rest, strict=True)]
            said = "not known" if np.isnan(first) else figure(first) + "".join(more)
            drawing.text(x + 5, y + number * BAR + 9, said, size=9)
        if notes and notes[at]:
            drawing.text(left + WIDTH + beside, y + BAR * len(groups) / 2 + 4, notes[at], size=10)
    drawing.line(left, TOP - 4, left, TOP + step * len(rows) - GAP + 4, INK)
    return drawing.document()


def largest_first(values: Floats, most: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the rows of the largest values, at most `most`, so that the picture stays readable."""
    return np.argsort(-values, kind="stable")[:most]
