"""One worker for all services' jobs: `python -m services.standalone.worker`."""

from __future__ import annotations

from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from libs.reconcile.environment import read_environment
from services.broker.tasks import KINDS as BROKER
from services.mover.settings import MoverSettings
from services.mover.tasks import KINDS as MOVER
from services.portal.tasks import KINDS as PORTAL
from services.solver.settings import SolverSettings
from services.solver.tasks import KINDS as SOLVER

KINDS = (*PORTAL, *BROKER, *SOLVER, *MOVER)


def main() -> None:
    """Run jobs until told to stop."""
    configure_logging("worker")
    for kind in (SolverSettings, MoverSettings):  # jobs need them: better to fail now than in each
        read_environment(kind)
    run_worker(read_environment(WorkerSettings), KINDS)


if __name__ == "__main__":
    main()
