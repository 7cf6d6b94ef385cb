"""The planner's routes: one router per resource."""

from fastapi import FastAPI

from libs.web.collection import settle_collection
from libs.web.serving import ServiceApi
from services.planner.api import (
    capacity_effects,
    capacity_events,
    metric_sources,
    model_figures,
    placement_plans,
    plan_overrides,
    plan_places,
    plan_runs,
    planning_inputs,
    service_models,
    telemetry,
    trace_files,
    traces,
    traffic,
    usage,
)
from services.planner.api import names_by_token as named_by
from services.planner.measurements import TABLE_BYTES_MAX
from services.planner.otlp_errors import OtlpErrors
from services.planner.telemetry_settings import TelemetrySettings

ROUTERS = (
    planning_inputs.router,
    plan_runs.router,
    placement_plans.router,
    plan_places.router,
    service_models.router,
    model_figures.router,
    plan_overrides.router,
    capacity_events.router,
    capacity_effects.router,
    traces.router,
    trace_files.router,
    usage.router,
    traffic.router,
    metric_sources.router,
    telemetry.router,
    named_by.router,
)

LARGE_BODIES = {
    "/v1/planning-inputs/{name}": planning_inputs.INPUT_BYTES_MAX,
    "/v1/traces": traces.BODY_BYTES_MAX,
    "/v1/trace-files": trace_files.FILE_BYTES_MAX,
    "/v1/usage": TABLE_BYTES_MAX,
    "/v1/traffic": TABLE_BYTES_MAX,
}


def _prepare(app: FastAPI) -> None:
    """Answer OTLP clients in their protocol, and tune garbage collection for large documents."""
    app.add_middleware(OtlpErrors)
    settle_collection()


API = ServiceApi(
    routers=ROUTERS, large_bodies=LARGE_BODIES, prepare=_prepare, read_settings=TelemetrySettings.from_environment
)
