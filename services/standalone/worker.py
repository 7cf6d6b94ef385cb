"""One worker for all services' jobs: `python -m services.standalone.worker`."""

from __future__ import annotations

from libs.jobs.processes import run_worker
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from services.broker.tasks import KINDS as BROKER
from services.mover.tasks import KINDS as MOVER
from services.portal.tasks import KINDS as PORTAL
from services.solver.tasks import KINDS as SOLVER

KINDS = (*PORTAL, *BROKER, *SOLVER, *MOVER)


def main() -> None:
    """Run jobs until told to stop."""
    configure_logging("worker")
    run_worker(WorkerSettings(), KINDS)  # type: ignore[call-arg]  # from the environment


if __name__ == "__main__":
    main()
