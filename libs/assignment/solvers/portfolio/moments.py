"""Record the states of a search, and turn some of them into the steps of a timeline at its end."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.result import Step
from libs.assignment.solvers.timeline_record import Record

MOMENTS_MAX, MOMENTS_MIN = 100, 2
"""Most and least steps of a timeline."""
MOMENTS_SHARE, MOMENTS_S = 0.02, 0.1
"""Time for turning the steps of the timeline into moves of objects at the end.

It is MOMENTS_SHARE of the time of the search, or MOMENTS_S seconds if that is more.
"""


class _Moment(NamedTuple):
    """A state of the search that the timeline may show.

    time_s   seconds since the start of the solve
    tries    number of neighbourhoods solved until then
    made     number of neighbourhoods that gained until then
    values   (levels,) the value of each level
    other    the numbers of the counts that differ from the start
    counts   the values of these counts
    """

    time_s: float
    tries: int
    made: int
    values: tuple[float, ...]
    other: Ints
    counts: Ints


class Moments:
    """The recorded moments of one solve, which began at `began` by time.perf_counter."""

    def __init__(self, lowered: Lowered, began: float) -> None:
        self.lowered, self.began = lowered, began
        self._all: list[_Moment] = []

    def add(self, point: Floats, *, tries: int, made: int) -> tuple[float, ...]:
        """Record the point `point` (C,), and return its values by level.

        If there are more than MOMENTS_MAX recorded moments, drop every second moment.
        """
        values, held = self.lowered.values(point), self.lowered.held
        counts = np.rint(point[: len(held)]).astype(np.int64)
        other = np.flatnonzero(counts != held)
        time_s = time.perf_counter() - self.began
        self._all.append(_Moment(time_s, tries, made, values, other, counts[other]))
        if len(self._all) > MOMENTS_MAX:
            del self._all[1:-1:2]
        return values

    def steps(self, placing_s: float) -> tuple[Step, ...]:
        """Return the steps of the timeline: the recorded moments with their moved objects.

        The moved objects are computed only now, after the search, so that the search does not wait.

        placing_s  seconds to compute the moved objects of one moment. If all moments would take too long compared with
                   the search, some of them are left out
        """
        lowered, record = self.lowered, Record(self.lowered.problem.initial, self.began)
        exact = not any(level.error for level in lowered.levels)
        share_s = max(MOMENTS_SHARE * (time.perf_counter() - self.began), MOMENTS_S)
        most = min(max(int(share_s / max(placing_s, 1e-9)), MOMENTS_MIN), len(self._all))
        for k in np.unique(np.linspace(0, len(self._all) - 1, most).astype(np.int64)):
            one = self._all[k]
            counts = lowered.held.copy()
            counts[one.other] = one.counts
            assignment = lowered.assignment(counts)
            values = one.values if exact else lowered.compiled.values(assignment)
            record.add(assignment, values, tries=one.tries, made=one.made, time_s=one.time_s)
        return tuple(record.steps)
