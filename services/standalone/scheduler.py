"""The scheduler: `python -m services.standalone.scheduler`."""

from __future__ import annotations

from libs.jobs.processes import run_scheduler
from libs.jobs.settings import WorkerSettings
from libs.observability.logs import configure_logging
from libs.reconcile.environment import read_environment


def main() -> None:
    """Tick until told to stop."""
    configure_logging("scheduler")
    run_scheduler(read_environment(WorkerSettings))


if __name__ == "__main__":
    main()
