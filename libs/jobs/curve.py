"""The course of a long job: its phases, and incumbent and bound over time, thinned to a bounded number of points."""

from __future__ import annotations

import math

POINTS_MAX = 120
"""Largest number of points. A row of the database and every page stay small, however long the job runs."""
_DIGITS = 7
"""Significant digits of a value. A picture shows fewer."""


class Curve:
    """Points of a job in the order of time. One thread adds points. Others may read them at any time."""

    def __init__(self) -> None:
        self._points: list[dict[str, object]] = []

    def add(self, at_s: float, phase: str, incumbent: float = math.nan, bound: float = math.nan) -> None:
        """Add a point, unless the phase and both values are those of the last point. Values may be unknown (nan).

        at_s   seconds since the job began
        """
        known = {
            name: float(f"{value:.{_DIGITS}g}")
            for name, value in (("incumbent", incumbent), ("bound", bound))
            if math.isfinite(value)
        }
        point: dict[str, object] = {"at_s": round(at_s, 3), "phase": phase, **known}
        last = self._points[-1] if self._points else {}
        if {**last, "at_s": None} == {**point, "at_s": None}:
            return
        self._points = _thinned([*self._points, point])

    @property
    def points(self) -> list[dict[str, object]]:
        """The points: at_s, phase, and incumbent and bound as far as they were known."""
        return self._points


def _thinned(points: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return at most POINTS_MAX points. Every second one goes, but the first of each phase and the last stay."""
    if len(points) <= POINTS_MAX:
        return points
    last = len(points) - 1
    kept = [
        point
        for at, point in enumerate(points)
        if at % 2 == 0 or at == last or point["phase"] != points[at - 1]["phase"]
    ]
    return kept if len(kept) <= POINTS_MAX else [*kept[: POINTS_MAX - 1], kept[-1]]
