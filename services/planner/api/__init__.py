"""The planner's routers, one per resource."""

from services.planner.api import placement_plans, plan_overrides, plan_runs, planning_inputs, service_models

ROUTERS = (
    planning_inputs.router,
    plan_runs.router,
    placement_plans.router,
    service_models.router,
    plan_overrides.router,
)
"""For create_app."""

LARGE_BODIES = {"/v1/planning-inputs/{name}": planning_inputs.INPUT_BYTES_MAX}
"""For create_app."""
