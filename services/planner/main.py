"""Wire the planner: `uvicorn --factory services.planner.main:make_app` for its routes, `run` for its worker."""

from __future__ import annotations

from fastapi import FastAPI

from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from libs.observability.traces import configure_tracing
from libs.reconcile.environment import read_environment
from libs.store.database import Database
from libs.web.app import create_app
from libs.web.rates import RateSettings
from services.planner.api import LARGE_BODIES, ROUTERS
from services.planner.otlp_errors import OtlpErrors
from services.planner.settings import PlannerSettings
from services.planner.tasks import KINDS


def make_app() -> FastAPI:
    """The planner's routes, as the environment describes them."""
    settings = read_environment(WorkerSettings)
    configure_logging("planner")
    configure_tracing("planner")
    database = Database.from_settings(settings)
    app = create_app(
        title="Plimsoll planner",
        version="1",
        database=database,
        clock=settings.clock(),
        routers=ROUTERS,
        large_bodies=LARGE_BODIES,
        rates=read_environment(RateSettings).limits(),
    )
    app.add_middleware(OtlpErrors)
    return app


def run() -> None:
    """A worker that plans, and nothing else."""
    configure_logging("planner")
    configure_tracing("planner")
    read_environment(PlannerSettings)  # its jobs need them: better to fail now than in each
    run_worker(read_environment(WorkerSettings), KINDS)
