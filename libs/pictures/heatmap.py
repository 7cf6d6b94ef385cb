"""A heat map of signed shares: blue above 0, orange below, with a legend."""

from __future__ import annotations

from collections.abc import Sequence

from libs.domain.arrays import Floats
from libs.pictures.svg import PAPER, Drawing, wide

CELL_HEIGHT, TOP = 20.0, 112.0
LEGEND_Y, SWATCH = 66.0, 10.0
ABOVE, BELOW = (9, 105, 218), (188, 76, 0)


def heatmap_svg(title: str, subtitle: str, rows: Sequence[str], columns: Sequence[str], values: Floats) -> str:
    """Return a heat map of (rows, columns) cells as SVG. The largest absolute value has the strongest colour."""
    left, cell_width = 24 + wide(rows), max(60.0, 10 + wide(columns))
    width = max(left + cell_width * len(columns), 16 + wide([subtitle])) + 24
    drawing = Drawing(width, TOP + CELL_HEIGHT * max(len(rows), 1) + 16, title)
    drawing.text(16, 46, subtitle)
    largest = float(abs(values).max(initial=0.0)) or 1.0
    x = 16.0
    ends = {-1.0: f"{-largest:+.1%}: below the model", 0.0: "0", 1.0: f"{largest:+.1%}: above it"}
    for strength, words in ends.items():
        drawing.rectangle(x, LEGEND_Y - SWATCH + 1, SWATCH, SWATCH, shade(strength), words)
        drawing.outline(x, LEGEND_Y - SWATCH + 1, SWATCH, SWATCH)
        drawing.text(x + SWATCH + 5, LEGEND_Y, words)
        x += SWATCH + 30 + wide([words])
    for column, name in enumerate(columns):
        drawing.text(left + cell_width * (column + 0.5), TOP - 8, name, "middle", bold=True)
    for row, name in enumerate(rows):
        y = TOP + CELL_HEIGHT * row
        drawing.text(left - 8, y + 14, name, "end")
        for column in range(len(columns)):
            value = float(values[row, column])
            x = left + cell_width * column
            tip = f"{name} in {columns[column]}: {value:+.1%}"
            drawing.rectangle(x, y, cell_width - 1, CELL_HEIGHT - 1, shade(value / largest), tip)
            said = f"{value:+.1%}" if abs(value) >= 0.0005 else "0"
            drawing.text(x + cell_width / 2, y + 14, said, "middle", size=10)
    return drawing.document()


def shade(strength: float) -> str:
    """Return the colour for a strength from -1 to 1: white at 0, three quarters of a full colour at either end.

    Dark text stays readable on three quarters of a colour.
    """
    full = ABOVE if strength > 0 else BELOW
    part = 0.75 * min(abs(strength), 1.0)
    mixed = (round(255 + (c - 255) * part) for c in full)
    return "#{:02x}{:02x}{:02x}".format(*mixed) if strength else PAPER
