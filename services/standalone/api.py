"""Serve all routes in one app: `python -m services.standalone.api serve`, or `make_app` for uvicorn's `--factory`."""

from __future__ import annotations

from fastapi import FastAPI

from libs.reconcile.command import run_command
from libs.web.serving import make_api, serve_api
from services.broker.api import API as BROKER
from services.mover.api import API as MOVER
from services.orchestrator.api import API as ORCHESTRATOR
from services.planner.api import API as PLANNER
from services.portal.api import API as PORTAL
from services.solver.api import API as SOLVER

_ALL = (PORTAL, BROKER, SOLVER, MOVER, PLANNER, ORCHESTRATOR)


def make_app() -> FastAPI:
    """Return an app with the routes of all services, as the environment configures them."""
    return make_api("api", *_ALL)


def serve() -> None:
    """Answer all routes until told to stop."""
    serve_api("api", *_ALL)


if __name__ == "__main__":
    run_command("services.standalone.api", serve)
