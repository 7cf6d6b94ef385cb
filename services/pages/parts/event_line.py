"""Events on a time line: a lane for each place, a mark for each event, and a line for the present."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from markupsafe import Markup, escape

from services.pages.parts.svg import rectangle, svg, text
from services.pages.parts.words import count

WIDTH = 1100.0
MARKS_MAX = 300
"""Largest number of events with a mark of their own. With more, a lane shows how many there are in each stretch."""
LANES_MAX = 24
_LEFT, _RIGHT, _TOP, _BOTTOM = 110.0, 16.0, 8.0, 26.0
_LANE, _ROWS = 30.0, 3
_STRETCHES = 60
_LEAST = 6.0
"""Least width of a mark, in pixels."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its lane, when it is asked for and when it is due, its class from f0 to f6, and its words."""

    lane: str
    begins: datetime
    due: datetime
    colour: str
    tip: str


def event_line(title: str, events: Sequence[Event], *, start: datetime, end: datetime, now: datetime) -> Markup | None:
    """Return the picture; None without events. A mark reaches from the request of an event to its time."""
    if not events:
        return None
    most = Counter(one.lane for one in events)
    lanes = sorted(name for name, _ in sorted(most.items(), key=lambda lane: (-lane[1], lane[0]))[:LANES_MAX])
    height = _TOP + _LANE * len(lanes) + _BOTTOM
    span = (end - start).total_seconds()

    def x(at: datetime) -> float:
        share = min(max((at - start).total_seconds() / span, 0.0), 1.0)
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * share

    shapes = []
    for at in _days(start, end):
        shapes.append(f'<path class="grid" d="M{x(at):.1f} {_TOP:.1f}V{height - _BOTTOM:.1f}"/>')
        shapes.append(text(x(at), height - 8, f"{at:%b} {at.day}", "middle"))
    for k, name in enumerate(lanes):
        top = _TOP + _LANE * k
        shapes.append(f'<path class="grid" d="M{_LEFT:.1f} {top + _LANE:.1f}H{WIDTH - _RIGHT:.1f}"/>')
        shapes.append(text(_LEFT - 8, top + _LANE / 2 + 4, name, "end"))
        mine = [one for one in events if one.lane == name]
        shapes += _marks(mine, top, x) if len(events) <= MARKS_MAX else _stretches(mine, top, x)
    if start <= now <= end:
        line = f'<path class="l5" stroke-dasharray="4 3" d="M{x(now):.1f} {_TOP:.1f}V{height - _BOTTOM:.1f}">'
        shapes.append(f"{line}<title>now</title></path>")
    return svg(WIDTH, height, title, shapes)


def _marks(events: Sequence[Event], top: float, x: object) -> list[str]:
    assert callable(x)
    shapes = []
    for k, one in enumerate(sorted(events, key=lambda event: event.due)):
        right = max(x(one.due), _LEFT + _LEAST)
        left = min(x(one.begins), right - _LEAST)
        row = top + 3 + (k % _ROWS) * (_LANE - 6) / _ROWS
        shapes.append(rectangle(left, row, right - left, (_LANE - 6) / _ROWS - 1, one.colour, one.tip))
    return shapes


def _stretches(events: Sequence[Event], top: float, x: object) -> list[str]:
    assert callable(x)
    width = (WIDTH - _LEFT - _RIGHT) / _STRETCHES
    found = Counter(min(int((x(one.due) - _LEFT) / width), _STRETCHES - 1) for one in events)
    most = max(found.values())
    return [
        rectangle(
            _LEFT + at * width,
            top + _LANE - 2 - (_LANE - 6) * many / most,
            width - 1,
            (_LANE - 6) * many / most,
            "f1",
            f"{escape(events[0].lane)}: {count(many, 'event')}",
        )
        for at, many in sorted(found.items())
    ]


def _days(start: datetime, end: datetime) -> list[datetime]:
    """Return at most nine midnights at equal distances."""
    step = max(1, -(-(end - start).days // 8))
    first = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    found = []
    while first <= end:
        found.append(first)
        first += timedelta(days=step)
    return found
