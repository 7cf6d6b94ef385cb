"""The planner's routers, one per resource."""

from collections.abc import Mapping

from fastapi import APIRouter

from services.planner.api import traces

ROUTERS: tuple[APIRouter, ...] = (traces.router,)
"""For create_app."""

LARGE_BODIES: Mapping[str, int] = {"/v1/traces": traces.BODY_BYTES_MAX}
"""For create_app."""
