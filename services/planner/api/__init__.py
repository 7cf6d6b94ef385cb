"""The planner's routers, one per resource."""

from services.planner.api import (
    metric_sources,
    named_by,
    placement_plans,
    plan_overrides,
    plan_runs,
    planning_inputs,
    service_models,
    telemetry,
    trace_files,
    traces,
    traffic,
    usage,
)
from services.planner.measurements import TABLE_BYTES_MAX

ROUTERS = (
    planning_inputs.router,
    plan_runs.router,
    placement_plans.router,
    service_models.router,
    plan_overrides.router,
    traces.router,
    trace_files.router,
    usage.router,
    traffic.router,
    metric_sources.router,
    telemetry.router,
    named_by.router,
)
"""For create_app."""

LARGE_BODIES = {
    "/v1/planning-inputs/{name}": planning_inputs.INPUT_BYTES_MAX,
    "/v1/traces": traces.BODY_BYTES_MAX,
    "/v1/trace-files": trace_files.FILE_BYTES_MAX,
    "/v1/usage": TABLE_BYTES_MAX,
    "/v1/traffic": TABLE_BYTES_MAX,
}
"""For create_app."""
