"""All services' routes in one app: `uvicorn --factory services.standalone.api:make_app`."""

from __future__ import annotations

from importlib.metadata import version

from fastapi import FastAPI

from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment
from libs.store.database import Database
from libs.web.app import create_app
from libs.web.collection import settle_collection
from libs.web.rates import RateSettings
from services.broker.api import LARGE_BODIES as BROKER_LARGE
from services.broker.api import ROUTERS as BROKER
from services.mover.api import ROUTERS as MOVER
from services.planner.api import LARGE_BODIES as PLANNER_LARGE
from services.planner.api import ROUTERS as PLANNER
from services.planner.otlp_errors import OtlpErrors
from services.portal.api import ROUTERS as PORTAL
from services.portal.solving_code import load_solving_code
from services.solver.api import ROUTERS as SOLVER


def make_app() -> FastAPI:
    """Portal, broker, solver, mover and planner, as the environment describes them."""
    settings = read_environment(WorkerSettings)
    configure_logging("api")
    configure_tracing("api")
    app = create_app(
        title="Plimsoll",
        version=version("plimsoll"),
        database=Database.from_settings(settings),
        clock=settings.clock(),
        routers=(*PORTAL, *BROKER, *SOLVER, *MOVER, *PLANNER),
        large_bodies={**BROKER_LARGE, **PLANNER_LARGE},
        rates=read_environment(RateSettings).limits(),
    )
    app.add_middleware(OtlpErrors)
    settle_collection()
    load_solving_code()
    return app
