"""Wire the solver: `uvicorn --factory services.solver.main:make_app` for its routes, `run` for its worker."""

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
from services.solver.api import ROUTERS
from services.solver.settings import SolverSettings
from services.solver.tasks import KINDS


def make_app() -> FastAPI:
    """The solver's routes, as the environment describes them."""
    settings = read_environment(WorkerSettings)
    configure_logging("solver")
    configure_tracing("solver")
    database = Database.from_settings(settings)
    return create_app(
        title="Plimsoll solver",
        version="1",
        database=database,
        clock=settings.clock(),
        routers=ROUTERS,
        rates=read_environment(RateSettings).limits(),
    )


def run() -> None:
    """A worker that solves, and nothing else."""
    configure_logging("solver")
    configure_tracing("solver")
    read_environment(SolverSettings)  # its jobs need them: better to fail now than in each
    run_worker(read_environment(WorkerSettings), KINDS)
