"""Telemetry between intake and model: waiting spans, their sums, and the measurements of a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Ints
from libs.domain.demand import Demand
from libs.domain.spans import Ids, Spans
from libs.domain.world import Observations


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingSpans:
    """All spans that are acknowledged and not yet summed. B batches, N spans.

    now       s            time of reading, on the database's clock
    batch_id  (B,) int     id of the batch; a batch is one export
    size      (B,) int     waiting spans of the batch
    arrival   (B,) s       time at which the batch was acknowledged
    rejected  (B,) int     entries of the batch that were not valid spans
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
        """Return the (N,) index of each span's batch."""
        return np.repeat(np.arange(len(self.size)), self.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpanSums:
    """The result of one sweep of the waiting spans.

    settled     (N,) bool  spans that need not wait any longer, because they are summed or too late
    late        int        number of settled spans whose trace had been summed before
    closed      traces summed in this sweep
    service_id  (S,) int   the store's ids of the rows of `demand`
    product_id  (P,) int   the store's ids of the columns of `demand`
    demand      sums of the closed traces
    """

    settled: Bools
    late: int
    closed: Ids
    service_id: Ints
    product_id: Ints
    demand: Demand


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """N samples of series.

    series  (N,) int    index into the caller's list of series
    minute  (N,) int    minutes since 1970-01-01T00:00Z
    value   (N,) float
    """

    series: Ints
    minute: Ints
    value: Floats

    def __len__(self) -> int:
        return len(self.series)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Telemetry:
    """The measurements of a window of time, ready for a model.

    unknown   "usage", "traffic" or "demand" -> number of series or sums left out because the vocabulary lacks a name
    """

    observations: Observations
    demand: Demand
    unknown: Mapping[str, int]
