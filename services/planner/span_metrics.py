"""Count received spans in an API process for Prometheus. Workers tally the later outcomes."""

from __future__ import annotations

from prometheus_client import Counter

SPANS = Counter("plimsoll_spans_received", "Spans of exports, by whether they were kept or were rejected", ["outcome"])
REFUSED = Counter("plimsoll_trace_exports_refused", "Exports answered with 429 because too many spans wait")
