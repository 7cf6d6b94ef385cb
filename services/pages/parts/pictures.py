"""Pictures as SVG. Colours are classes of the stylesheet, so they follow the colour scheme and the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from markupsafe import Markup, escape

from services.pages.parts.svg import WIDTH, rectangle, round_up, steps, svg, text
from services.pages.parts.words import number

_STEPS_H = (1 / 60, 1 / 12, 1 / 6, 1 / 4, 1 / 2, 1, 2, 3, 6, 12, 24, 48, 96, 168, 336)
"""Hours between two labels of an axis of time."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 12.0, 10.0, 26.0


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name, its class from l1 to l6, and a value for each time; None: not known."""

    name: str
    colour: str
    values: Sequence[float | None]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar: its name, its class from f0 to f6, and its value."""

    name: str
    colour: str
    value: float


def bar_svg(title: str, parts: Sequence[Part], *, whole: float | None = None, width: float = WIDTH) -> Markup:
    """Return one bar of stacked parts, with a thin mark at `whole` if it is given."""
    height, total = 22.0, sum(part.value for part in parts)
    scale = (width - 2) / (max(total, whole or 0.0) or 1.0)
    shapes, x = [], 1.0
    for part in parts:
        length = part.value * scale
        if length > 0:
            tip = f"{part.name}: {number(part.value)}"
            shapes.append(rectangle(x, 2, length, height - 4, part.colour, tip))
        x += length
    if whole is not None:
        at = 1 + whole * scale
        shapes.append(f'<path class="axis" d="M{at:.1f} 0v{height:.0f}" stroke-width="2"/>')
    said = ", ".join(f"{part.name} {number(part.value)}" for part in parts)
    return svg(width, height, f"{title}: {said}", shapes)


def share_svg(parts: Sequence[Part], *, width: float) -> Markup:
    """Return a small bar for the row of a table: the shares of a whole. It has no words, because the row has the
    figures.
    """
    scale, x, shapes = width / (sum(part.value for part in parts) or 1.0), 0.0, []
    for part in parts:
        length = part.value * scale
        if length > 0:
            shapes.append(f'<rect class="{part.colour}" x="{x:.0f}" width="{length:.1f}" height="14"/>')
        x += length
    inner = "".join(shapes)
    return Markup(  # noqa: S704 - numbers and classes
        f'<svg viewBox="0 0 {width:.0f} 14" width="{width:.0f}" height="14" aria-hidden="true">{inner}</svg>'
    )


def lines_svg(title: str, times: Sequence[datetime], series: Sequence[Series], *, height: float = 220.0) -> Markup:
    """Return lines that stay level until the next time, as asked and held capacity do.

    times   at least two, ascending; each series has a value for each
    """
    if len(times) < 2:
        return Markup("")
    top = round_up(max((v for one in series for v in one.values if v is not None), default=1.0))
    span = (times[-1] - times[0]).total_seconds() or 1.0
    inner = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def x(at: datetime) -> float:
        return _LEFT + inner[0] * (at - times[0]).total_seconds() / span

    def y(value: float) -> float:
        return _TOP + inner[1] * (1 - value / top)

    shapes = []
    for step in range(5):
        level = top * step / 4
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {y(level):.1f}H{WIDTH - _RIGHT:.1f}"/>')
        shapes.append(text(_LEFT - 6, y(level) + 4, number(level), "end"))
    for at, words in ticks(times[0], times[-1]):
        shapes.append(f'<path class="grid" d="M{x(at):.1f} {_TOP:.1f}V{height - _BOTTOM:.1f}"/>')
        shapes.append(text(x(at), height - 8, words, "end" if x(at) > WIDTH - 3 * _RIGHT else "middle"))
    for one in series:
        dash = ' stroke-dasharray="5 3"' if one.dashed else ""
        path = steps([x(at) for at in times], [None if v is None else y(v) for v in one.values])
        shapes.append(f'<path class="{one.colour}"{dash} d="{path}"><title>{escape(one.name)}</title></path>')
    return svg(WIDTH, height, title, shapes)


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Return a list of (class, name) with a swatch each."""
    items = [
        f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" class="{colour}"/></svg>'
        f"{escape(name)}</li>"
        for colour, name in entries
    ]
    return Markup(f'<ul class="legend">{"".join(items)}</ul>')  # noqa: S704 - names are escaped


def ticks(first: datetime, last: datetime) -> list[tuple[datetime, str]]:
    """Return at most eight times at round minutes, hours or days, with their words in UTC."""
    hours = (last - first).total_seconds() / 3600
    step_h = next((h for h in _STEPS_H if hours / h <= 7), ceil(hours / 7 / 24) * 24)
    start = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    found, at = [], start
    while at <= last:
        if at >= first:
            is_day = step_h >= 24 or (at.hour, at.minute) == (0, 0)
            found.append((at, f"{at:%b} {at.day}" if is_day else f"{at:%H:%M}"))
        at += timedelta(hours=step_h)
    return found
