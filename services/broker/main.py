"""Run the broker as a process: `python -m services.broker.main serve`, and `work` for its jobs."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Answer the routes of regions, servers, imports and unavailability."""
    from libs.web.serving import serve_api
    from services.broker.api import API

    serve_api("broker", API)


def work() -> None:
    """Refresh unavailability and retire servers."""
    from libs.jobs.working import work_jobs
    from services.broker.tasks import JOBS

    work_jobs("broker", JOBS)


if __name__ == "__main__":
    run_command("services.broker.main", serve, work)
