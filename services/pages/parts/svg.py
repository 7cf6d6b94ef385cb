"""The shapes that pictures are made of. Colours are classes of the stylesheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from markupsafe import Markup, escape

WIDTH = 620.0
"""Width of a picture in half of a page."""


def svg(width: float, height: float, title: str, shapes: Sequence[str]) -> Markup:
    """Return a picture with its title for screen readers."""
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    inner = "".join(shapes)
    return Markup(  # noqa: S704 - all words in it are escaped
        f'<svg {box} role="img" aria-label="{escape(title)}">{inner}</svg>'
    )


def rectangle(x: float, y: float, width: float, height: float, colour: str, tip: str) -> str:
    """Return a rectangle. `tip` appears when the mouse is over it."""
    at = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{colour}" {at}><title>{escape(tip)}</title></rect>'


def dot(x: float, y: float, colour: str, tip: str, radius: float = 3.5) -> str:
    """Return a filled circle. `tip` appears when the mouse is over it."""
    at = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
    return f'<circle class="{colour}" {at}><title>{escape(tip)}</title></circle>'


def text(x: float, y: float, words: str, anchor: str) -> str:
    """Return text whose baseline is at y. `anchor` is start, middle or end."""
    return f'<text class="soft" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def steps(xs: Sequence[float], ys: Sequence[float | None]) -> str:
    """Return a path that stays level until the next x. None in `ys` makes a gap."""
    parts, drawing = [], False
    for at, level in zip(xs, ys, strict=True):
        if level is None:
            if drawing:
                parts.append(f"H{at:.1f}")
            drawing = False
        elif drawing:
            parts.append(f"H{at:.1f}V{level:.1f}")
        else:
            parts.append(f"M{at:.1f} {level:.1f}")
            drawing = True
    return "".join(parts)


def round_up(value: float) -> float:
    """Return the next of 1, 2, 4 or 8 times a power of ten, so that the quarters of the axis are round."""
    if value <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(value))
    return next(step * unit for step in (1, 2, 4, 8, 10) if step * unit >= value * 0.999)
