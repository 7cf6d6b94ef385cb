"""What Prometheus sees of the requests. One registry per process, whatever number of apps it holds."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

REQUESTS = Counter("plimsoll_http_requests_total", "Requests answered", ["route", "method", "status"])
SECONDS = Histogram(
    "plimsoll_http_request_seconds",
    "Time to answer a request",
    ["route", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


def observe_request(route: str, method: str, status: int, duration_s: float) -> None:
    """Count one request. Methods beyond the usual are one label: a client must not be able to make labels up."""
    method = method if method in _METHODS else "OTHER"
    REQUESTS.labels(route, method, str(status)).inc()
    SECONDS.labels(route, method).observe(duration_s)
