"""The daily peak window: the 60 minutes of each day with the highest worldwide usage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Floats, Ints

DAY_MINUTES = 24 * 60
WINDOW_MINUTES = 60
WHOLE_DAY = 0.9
"""Share of the samples of the fullest day that a day must have to count. A day with fewer samples may lack its peak."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """One window per day for each of A series, over D days. A window holds the samples first .. end-1.

    first, end  (A, D) int
    """

    first: NDArray[np.intp]
    end: NDArray[np.intp]

    def means(self, running: tuple[Floats, Floats], row: NDArray[np.intp]) -> Floats:
        """Return means in the windows, (A, D): row a has the means of the series row[a]. They are 0 in windows without
        reports.
        """
        total, count = running
        r = row[:, None]
        n = count[r, self.end] - count[r, self.first]
        return np.asarray((total[r, self.end] - total[r, self.first]) / np.maximum(n, 1))


def running_sums(series: Floats) -> tuple[Floats, Floats]:
    """Return the (B, M + 1) sums and counts of the reported values (not nan) before each sample."""
    reported = ~np.isnan(series)
    start = ((0, 0), (1, 0))
    return (
        np.pad(np.cumsum(np.where(reported, series, 0.0), 1), start),
        np.pad(np.cumsum(reported, 1, dtype=np.float64), start),
    )


def peak_windows(world: Floats, minute: Ints) -> Windows:
    """Return the windows in which each row of `world` (A, M) is highest on average.

    A window must have as many samples as the fullest window of its day. A window with fewer samples could be highest by
    chance.
    """
    first = np.arange(len(minute))
    end = np.searchsorted(minute, minute + WINDOW_MINUTES)
    day = minute // DAY_MINUTES
    end = np.minimum(end, np.searchsorted(day, day, "right"))
    days, samples = np.unique(day, return_counts=True)
    total = np.pad(np.cumsum(world, 1), ((0, 0), (1, 0)))
    mean = (total[:, end] - total[:, first]) / (end - first)
    best = []
    for d in days[samples >= WHOLE_DAY * samples.max()]:
        today = np.flatnonzero(day == d)
        full = today[(end - first)[today] == (end - first)[today].max()]
        best.append(full[np.argmax(mean[:, full], 1)])
    chosen = np.stack(best, 1)
    return Windows(first=chosen, end=end[chosen])
