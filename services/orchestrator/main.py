"""Run the orchestrator as a process: `python -m services.orchestrator.main serve`, and `work` for its jobs."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Answer the routes of executions."""
    from libs.web.serving import serve_api
    from services.orchestrator.api import API

    serve_api("orchestrator", API)


def work() -> None:
    """Carry out executions."""
    from libs.jobs.working import work_jobs
    from services.orchestrator.tasks import JOBS

    work_jobs("orchestrator", JOBS)


if __name__ == "__main__":
    run_command("services.orchestrator.main", serve, work)
