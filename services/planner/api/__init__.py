"""The planner's routers, one per resource."""

from collections.abc import Mapping

from fastapi import APIRouter

ROUTERS: tuple[APIRouter, ...] = ()
"""For create_app."""

LARGE_BODIES: Mapping[str, int] = {}
"""For create_app."""
