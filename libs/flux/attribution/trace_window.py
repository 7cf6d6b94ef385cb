"""The open window: spans wait until their trace is likely complete, in memory that does not grow with traffic."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from libs.domain.arrays import Bools, Floats
from libs.domain.spans import Ids, Spans, join_spans

AGE_WINDOWS_MAX = 4
"""Number of windows after which a trace is closed, even if spans of the trace still arrive."""


@dataclass(slots=True, kw_only=True)
class TraceWindow:
    """Gathers spans in order of arrival and hands out whole traces.

    A trace is closed once none of its spans arrived for `window`, in the unit of the arrivals. For a file the unit is
    spans read, which bounds memory to a few windows; for an intake it is seconds. A span is late if its trace was among
    the last `remembered_max` traces closed. Late spans are counted and dropped, because their callers are gone.
    """

    window: float
    remembered_max: int = 1_000_000
    late: int = 0
    _parts: list[Spans] = field(default_factory=list)
    _arrivals: list[Floats] = field(default_factory=list)
    _closed: deque[Ids] = field(default_factory=deque)

    @property
    def open_spans(self) -> int:
        """Number of spans that wait."""
        return sum(map(len, self._parts))

    def add(self, spans: Spans, arrival: float) -> None:
        """Add spans that arrived together. `arrival` must not be less than in the call before."""
        if len(spans):
            self._parts.append(spans)
            self._arrivals.append(np.full(len(spans), arrival))

    def close(self, now: float) -> Spans | None:
        """Return the spans of all traces without a new span since `now` - window; None if there is no such trace."""
        if not self._parts:
            return None
        spans, arrival = join_spans(self._parts), np.concatenate(self._arrivals)
        late = self._is_late(spans.trace)
        self.late += int(late.sum())
        done, closed = silent_traces(spans.trace, arrival, now, self.window)
        keep = ~done & ~late
        self._parts, self._arrivals = [spans.take(keep)], [arrival[keep]]
        self._remember(closed)
        return spans.take(done & ~late) if (done & ~late).any() else None

    def _is_late(self, trace: Ids) -> Bools:
        late = np.zeros(len(trace), bool)
        for closed in self._closed:
            late |= np.isin(trace, closed)
        return late

    def _remember(self, trace: Ids) -> None:
        if len(trace):
            self._closed.append(trace)
        while len(self._closed) > 1 and sum(map(len, self._closed)) > self.remembered_max:
            self._closed.popleft()


def silent_traces(trace: Ids, arrival: Floats, now: float, window: float) -> tuple[Bools, Ids]:
    """Return the (N,) mask of spans whose trace has no new span since `now` - `window`, and the ascending ids of these
    traces.

    trace    (N,)   trace id of each span that waits
    arrival  (N,)   arrival of each span, in the unit of `now` and `window`
    """
    found, of = np.unique(trace, return_inverse=True)
    last = np.full(len(found), -np.inf)
    np.maximum.at(last, of, arrival)
    first = np.full(len(found), np.inf)
    np.minimum.at(first, of, arrival)
    silent = (last <= now - window) | (first <= now - AGE_WINDOWS_MAX * window)
    return silent[of], found[silent]
