"""`/metrics`. Request metrics are per process; the platform's figures are the same in all processes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Histogram, generate_latest

router = APIRouter(tags=["health"])

REQUESTS = Counter("plimsoll_http_requests_total", "Requests answered", ["route", "method", "status", "code"])
SECONDS = Histogram(
    "plimsoll_http_request_seconds",
    "Time to answer a request",
    ["route", "method"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 30),
)
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})


def observe_request(route: str, method: str, status: int, duration_s: float, code: str = "") -> None:
    """Count one request. `code` is the code of the problem that answered it.

    `method` is one of METHODS or OTHER, so that clients cannot invent labels.
    """
    REQUESTS.labels(route, method, str(status), code).inc()
    SECONDS.labels(route, method).observe(duration_s)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text"}},
)
def get_metrics(request: Request) -> Response:
    """Return counters, gauges and histograms in Prometheus' text format. It names regions, so it needs a viewer's
    token.
    """
    own = generate_latest(request.app.state.database_metrics)
    return Response(generate_latest(REGISTRY) + own, media_type=CONTENT_TYPE_LATEST)
