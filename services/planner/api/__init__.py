"""The planner's routers, one per resource."""

from services.planner.api import planning_inputs

ROUTERS = (planning_inputs.router,)
"""For create_app."""

LARGE_BODIES = {"/v1/planning-inputs/{name}": planning_inputs.INPUT_BYTES_MAX}
"""For create_app."""
