"""One sweep over the spans that wait in the store. A sweep finds the traces that are complete, and sums their spans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Ints
from libs.domain.demand import Demand
from libs.domain.spans import Spans
from libs.domain.telemetry import SpanSums, WaitingSpans
from libs.flux.attribution.demand import demand_of
from libs.flux.attribution.trace_window import silent_traces


def sum_waiting_spans(
    waiting: WaitingSpans, window_s: float, attribute: Callable[[Spans, int, int], Demand] = demand_of
) -> SpanSums:
    """Attribute every trace without a new span for `window_s` seconds; the other traces keep waiting.

    attribute   returns the demand of whole traces, given the numbers of services and of products

    The result depends only on the waiting spans and on `waiting.closed`. So any process can continue after another was
    killed.
    """
    spans = waiting.spans
    late = np.isin(spans.trace, waiting.closed)
    arrival = waiting.arrival[waiting.batch()]
    rows = np.flatnonzero(~late)
    silent, closed = silent_traces(spans.trace[rows], arrival[rows], waiting.now, window_s)
    settled = late.copy()
    settled[rows[silent]] = True
    whole = spans.take(rows[silent])
    service_id, service = _numbered(whole.service)
    product_id, gateway = _numbered(whole.gateway)
    return SpanSums(
        settled=settled,
        late=int(late.sum()),
        closed=closed,
        service_id=service_id,
        product_id=product_id,
        demand=attribute(_renumbered(whole, service, gateway), len(service_id), len(product_id)),
    )


def _renumbered(spans: Spans, service: NDArray[np.int32], gateway: NDArray[np.int32]) -> Spans:
    return Spans(
        trace=spans.trace,
        span=spans.span,
        parent=spans.parent,
        service=service,
        gateway=gateway,
        kind=spans.kind,
        shared=spans.shared,
        took_ns=spans.took_ns,
        cpu=spans.cpu,
        probability=spans.probability,
    )


def _numbered(ids: NDArray[np.integer]) -> tuple[Ints, NDArray[np.int32]]:
    """Return the distinct ids that are not negative, and the index of each id among them; negative ids become -1."""
    known = np.unique(ids[ids >= 0]).astype(np.int64)
    return known, np.where(ids >= 0, np.searchsorted(known, ids), -1).astype(np.int32)
