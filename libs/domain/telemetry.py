"""What was measured, between intake and model: spans that wait, their sums, and what a window of time comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.demand import Demand
from libs.domain.fleet import Bools, Floats, Ints
from libs.domain.spans import Ids, Spans
from libs.domain.world import Observations


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingSpans:
    """All spans that were acknowledged and not summed yet. B batches, N spans.

    now       s            when this was read, on the database's clock
    batch_id  (B,) int     what one export brought
    size      (B,) int     spans of it that wait
    arrival   (B,) s       when it was acknowledged
    rejected  (B,) int     things in it that were no spans
    spans     N spans      batch after batch; `service` and `gateway` are ids of the store
    closed    traces that were summed lately
    """

    now: float
    batch_id: Ints
    size: Ints
    arrival: Floats
    rejected: Ints
    spans: Spans
    closed: Ids

    def batch(self) -> NDArray[np.intp]:
        """(N,) which batch each span is of."""
        return np.repeat(np.arange(len(self.size)), self.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanSums:
    """What a sweep of the waiting spans found.

    settled     (N,) bool  spans that wait no longer: summed, or too late
    late        int        of these, spans of a trace that had been summed before
    closed      traces that were summed now
    service_id  (S,) int   the store's ids of the rows of `demand`
    product_id  (P,) int   and of its columns
    """

    settled: Bools
    late: int
    closed: Ids
    service_id: Ints
    product_id: Ints
    demand: Demand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """N measurements of series.

    series  (N,) int    index into the caller's list of series
    minute  (N,) int    since 1970-01-01T00:00Z
    value   (N,) float
    """

    series: Ints
    minute: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.series)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Telemetry:
    """A window of time as a model takes it.

    unknown   "usage", "traffic", "demand" -> series or sums left out since the vocabulary lacks a name of theirs
    """

    observations: Observations
    demand: Demand
    unknown: Mapping[str, int]
