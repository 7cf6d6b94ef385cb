"""Serve all routes in one app: `uvicorn --factory services.standalone.api:make_app`."""

from __future__ import annotations

from fastapi import FastAPI

from libs.web.serving import make_api
from services.broker.api import API as BROKER
from services.mover.api import API as MOVER
from services.planner.api import API as PLANNER
from services.portal.api import API as PORTAL
from services.solver.api import API as SOLVER


def make_app() -> FastAPI:
    """Return an app with portal, broker, solver, mover and planner, as the environment configures them."""
    return make_api("api", PORTAL, BROKER, SOLVER, MOVER, PLANNER)
