"""The part of SVG that the pictures need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

FONT = 12
INK, FAINT, PAPER = "#1b1f24", "#d0d7de", "#ffffff"
SERIES = ("#8c959f", "#0969da", "#bf8700", "#2da44e")
"""Colours of four quantities: before, after, growth and spare. They differ in brightness too, for colour-blind readers.
"""

LINES = ("#1b1f24", "#0969da", "#bc4c00", "#2da44e", "#8250df", "#bf8700", "#0a7d7d", "#cf222e", "#8c959f", "#54aeff")
"""Colours of lines, in order. The first is for the total."""


def wide(names: Sequence[str], size: int = FONT) -> float:
    """Return the approximate width, in pixels, of the longest name."""
    return 0.62 * size * max(map(len, names), default=0)


@dataclass(slots=True)
class Drawing:
    """Shapes on a white page. Coordinates are pixels from the top left."""

    width: float
    height: float
    title: str
    _shapes: list[str] = field(default_factory=list)

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str, tip: str = "") -> None:
        """Add a filled rectangle. `tip` appears when the mouse is over it."""
        inner = f"<title>{escape(tip)}</title>" if tip else ""
        shape = (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{fill}">'
        )
        self._shapes.append(f"{shape}{inner}</rect>")

    def outline(self, x: float, y: float, width: float, height: float) -> None:
        """Add an empty rectangle with a thin border."""
        at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._shapes.append(f'<rect {at} fill="none" stroke="{FAINT}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str = FAINT, width: float = 1) -> None:
        """Add a line."""
        at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        thick = f' stroke-width="{width:g}"' if width != 1 else ""
        self._shapes.append(f'<line {at} stroke="{stroke}"{thick}/>')

    def path(self, points: Sequence[tuple[float, float]], stroke: str, tip: str) -> None:
        """Add a line through points. `tip` appears when the mouse is over it."""
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        shape = f'<polyline points="{through}" fill="none" stroke="{stroke}" stroke-width="2">'
        self._shapes.append(f"{shape}<title>{escape(tip)}</title></polyline>")

    def dot(self, x: float, y: float, fill: str, tip: str) -> None:
        """Add a dot. `tip` appears when the mouse is over it."""
        shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}">'
        self._shapes.append(f"{shape}<title>{escape(tip)}</title></circle>")

    def text(
        self, x: float, y: float, words: str, anchor: str = "start", *, bold: bool = False, size: int = FONT
    ) -> None:
        """Add text that starts at x, ends at x or is centred on x. Its baseline is at y."""
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(words)}</text>'
        )

    def legend(self, x: float, y: float, names: Sequence[str], colours: Sequence[str] = SERIES) -> None:
        """Add a legend for colours, from left to right."""
        for colour, name in zip(colours, names, strict=False):
            self.rectangle(x, y - 9, 10, 10, colour)
            self.text(x + 15, y, name)
            x += 30 + 7.0 * len(name)

    def document(self) -> str:
        """Return the content of the SVG file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="sans-serif" fill="{INK}" role="img">'
        )
        page = f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        heading = f'<text x="16" y="26" font-size="15" font-weight="600">{escape(self.title)}</text>'
        return "\n".join([head, f"<title>{escape(self.title)}</title>", page, heading, *self._shapes, "</svg>", ""])
