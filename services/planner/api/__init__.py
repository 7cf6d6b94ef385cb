"""The planner's routers, one per resource."""

from collections.abc import Mapping

from fastapi import APIRouter

from services.planner.api import metric_sources, trace_files, traces, traffic, usage
from services.planner.measurements import TABLE_BYTES_MAX

ROUTERS: tuple[APIRouter, ...] = (
    traces.router,
    trace_files.router,
    usage.router,
    traffic.router,
    metric_sources.router,
)
"""For create_app."""

LARGE_BODIES: Mapping[str, int] = {
    "/v1/traces": traces.BODY_BYTES_MAX,
    "/v1/trace-files": trace_files.FILE_BYTES_MAX,
    "/v1/usage": TABLE_BYTES_MAX,
    "/v1/traffic": TABLE_BYTES_MAX,
}
"""For create_app."""
