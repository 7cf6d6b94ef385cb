"""A graph of actions in columns, one for each phase, as SVG. Its boxes are links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_BOX, _GAP, _HIGH, _BETWEEN, _TOP = 190.0, 56.0, 44.0, 10.0, 34.0
_NAME_MAX = 27


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One box.

    key      its name in the edges
    name     the first line
    words    the second line: the state in words
    colour   class from f0 to f6 of the stripe at its left
    strong   whether it is on the critical path
    """

    key: str
    name: str
    words: str
    colour: str
    href: str
    strong: bool = False
    chosen: bool = False


def dag_svg(title: str, columns: Mapping[str, Sequence[Box]], edges: Sequence[tuple[str, str]]) -> Markup:
    """Return the picture. An edge goes from the box that must finish first to the one that waits."""
    columns = {name: boxes for name, boxes in columns.items() if boxes}
    width = len(columns) * (_BOX + _GAP) - _GAP + 4
    height = _TOP + max((len(boxes) for boxes in columns.values()), default=0) * (_HIGH + _BETWEEN) + 4
    at: dict[str, tuple[float, float]] = {}
    shapes, boxes_drawn = [], []
    for number, (name, boxes) in enumerate(columns.items()):
        x = 2 + number * (_BOX + _GAP)
        shapes.append(f'<text class="head" x="{x:.0f}" y="16">{escape(name)}</text>')
        for row, box in enumerate(boxes):
            at[box.key] = (x, _TOP + row * (_HIGH + _BETWEEN))
            boxes_drawn.append(_box(box, *at[box.key]))
    strong = {box.key for boxes in columns.values() for box in boxes if box.strong}
    for before, after in edges:
        if before in at and after in at:
            shapes.append(_edge(at[before], at[after], strong=before in strong and after in strong))
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    inner = "".join([*shapes, *boxes_drawn])
    return Markup(  # noqa: S704 - all words in it are escaped
        f'<svg {size} role="group" aria-label="{escape(title)}">{inner}</svg>'
    )


def _box(box: Box, x: float, y: float) -> str:
    name = box.name if len(box.name) <= _NAME_MAX else f"{box.name[: _NAME_MAX - 1]}…"
    kind = f"box{' strong' if box.strong else ''}{' chosen' if box.chosen else ''}"
    lines = (
        f'<text x="{x + 14:.0f}" y="{y + 18:.0f}">{escape(name)}</text>'
        f'<text class="soft" x="{x + 14:.0f}" y="{y + 35:.0f}">{escape(box.words)}</text>'
    )
    return (
        f'<a href="{escape(box.href)}"><title>{escape(box.name)}: {escape(box.words)}</title>'
        f'<rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{_BOX:.0f}" height="{_HIGH:.0f}" rx="4"/>'
        f'<rect class="{box.colour}" x="{x:.0f}" y="{y:.0f}" width="6" height="{_HIGH:.0f}"/>{lines}</a>'
    )


def _edge(before: tuple[float, float], after: tuple[float, float], *, strong: bool) -> str:
    x, y = before[0] + _BOX, before[1] + _HIGH / 2
    to_x, to_y = after[0], after[1] + _HIGH / 2
    bend = to_bend = (x + to_x) / 2
    if to_x <= before[0]:  # within a column: around its right side
        to_x += _BOX
        bend = to_bend = x + _GAP * 0.4
    elif to_x - x > _GAP + 1:  # over other columns: through the gaps beside them
        bend, to_bend = x + _GAP / 2, to_x - _GAP / 2
    way = f"M{x:.0f} {y:.0f}C{bend:.0f} {y:.0f} {to_bend:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path class="edge{" strong" if strong else ""}" d="{way}"/>'
