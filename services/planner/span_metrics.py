"""What an API process counts of spans for Prometheus; what becomes of them later, workers tally."""

from __future__ import annotations

from prometheus_client import Counter

SPANS = Counter("plimsoll_spans_received", "Spans of exports, by whether they were kept or were rejected", ["outcome"])
REFUSED = Counter("plimsoll_trace_exports_refused", "Exports answered with 429 since too much waits")
