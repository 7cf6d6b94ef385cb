"""Run the scheduler as a process: `python -m services.scheduler.main work`."""

from __future__ import annotations

from libs.jobs.processes import run_scheduler
from libs.jobs.settings import MessageSettings
from libs.observability.logs import configure_logging
from libs.reconcile.command import run_command
from libs.reconcile.environment import read_environment


def work() -> None:
    """Send due jobs, and take back jobs without a live worker. Several schedulers may run at once."""
    configure_logging("scheduler")
    run_scheduler(read_environment(MessageSettings))


if __name__ == "__main__":
    run_command("services.scheduler.main", work)
