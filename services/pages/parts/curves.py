"""The course of solves as a picture: incumbent and bound over the seconds of a run, with its phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup, escape

from services.pages.parts.svg import dot, round_up, steps, svg, text
from services.pages.parts.words import duration, number

_WIDTH, _HEIGHT = 1100.0, 280.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 28.0, 28.0
_WIDE_RATIO = 20.0
"""With a larger ratio of the largest value to the smallest one, the axis is logarithmic."""
_LABEL = 7.0
"""Width of a letter of a label, in pixels."""
Point = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Course:
    """The curve of a run: its name, its colour from l1 to l6, and its points as the API returns them."""

    name: str
    colour: str
    points: Sequence[Point]

    @property
    def is_empty(self) -> bool:
        """Whether no point has an incumbent."""
        return all("incumbent" not in point for point in self.points)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The vertical axis: its levels, from the lowest to the highest."""

    levels: Sequence[float]
    logarithmic: bool

    def y(self, value: float) -> float:
        low, high = self.levels[0], self.levels[-1]
        value = min(max(value, low), high)
        share = log10(value / low) / log10(high / low) if self.logarithmic else (value - low) / (high - low)
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)


def curve_svg(title: str, courses: Sequence[Course]) -> Markup | None:
    """Return the picture; None if no run had an incumbent. The phases are those of the first run."""
    courses = [one for one in courses if not one.is_empty]
    if not courses:
        return None
    end_s = max(float(str(one.points[-1]["at_s"])) for one in courses) or 1.0
    axis = _axis([value for one in courses for value in (*_values(one, "incumbent"), *_values(one, "bound"))])

    def x(at_s: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at_s / end_s

    shapes = []
    for level in axis.levels:
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {axis.y(level):.1f}H{_WIDTH - _RIGHT:.1f}"/>')
        shapes.append(text(_LEFT - 6, axis.y(level) + 4, number(level), "end"))
    for step in range(5):
        at_s = end_s * step / 4
        anchor = "end" if step == 4 else "middle"
        shapes.append(text(x(at_s), _HEIGHT - 8, _seconds(at_s), anchor))
    shapes += _phases(courses[0].points, x, end_s)
    for one in courses:
        times = [float(str(point["at_s"])) for point in one.points]
        for name, dash in (("bound", ' stroke-dasharray="5 3"'), ("incumbent", "")):
            ys = [
                axis.y(float(str(point[name]))) if "incumbent" in point and name in point else None
                for point in one.points
            ]
            path = steps([x(at_s) for at_s in times], ys)
            tip = f"{name} of {one.name}"
            if name == "incumbent" and ys[-1] is not None:
                tip_at_end = f"{tip} at the end: {number(float(str(one.points[-1][name])))}"
                shapes.append(dot(x(times[-1]), ys[-1], one.colour.replace("l", "f"), tip_at_end))
            shapes.append(f'<path class="{one.colour}"{dash} d="{path}"><title>{escape(tip)}</title></path>')
    return svg(_WIDTH, _HEIGHT, title, shapes)


def is_logarithmic(courses: Sequence[Course]) -> bool:
    """Return whether the picture of these runs has a logarithmic axis, so that the page can say so."""
    return _axis([v for one in courses for v in (*_values(one, "incumbent"), *_values(one, "bound"))]).logarithmic


def _values(course: Course, name: str) -> list[float]:
    return [float(str(point[name])) for point in course.points if "incumbent" in point and name in point]


def _axis(values: Sequence[float]) -> _Axis:
    # A bound of 0 says nothing, and has no logarithm. It lies on the lowest level.
    low, high = min((value for value in values if value > 0), default=0.0), max(values, default=1.0)
    if low > 0 and high / low > _WIDE_RATIO:
        first, last = floor(log10(low)), ceil(log10(high))
        step = max(1, ceil((last - first) / 6))
        return _Axis([10.0**power for power in range(first, last + step, step)], logarithmic=True)
    top = round_up(high)
    return _Axis([top * step / 4 for step in range(5)], logarithmic=False)


def _phases(points: Sequence[Point], x: Callable[[float], float], end_s: float) -> list[str]:
    """Return a line where each phase begins, and its name where there is room for it."""
    begins = [
        (float(str(point["at_s"])), str(point["phase"]))
        for at, point in enumerate(points)
        if at == 0 or point["phase"] != points[at - 1]["phase"]
    ]
    shapes = []
    for at, (at_s, phase) in enumerate(begins):
        until_s = begins[at + 1][0] if at + 1 < len(begins) else end_s
        left, right = x(at_s), x(until_s)
        tip = f"{phase}: {_seconds(until_s - at_s)}"
        line = f"M{left:.1f} {_TOP - 18:.1f}V{_HEIGHT - _BOTTOM:.1f}"
        shapes.append(f'<path class="axis" stroke-dasharray="2 3" d="{line}"><title>{escape(tip)}</title></path>')
        if right - left > _LABEL * len(phase):
            shapes.append(text(left + 4, _TOP - 8, phase, "start"))
    return shapes


def _seconds(value: float) -> str:
    return duration(value) if value >= 60 else f"{number(round(value, 2))} s"
