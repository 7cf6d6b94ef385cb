"""Run the mover as a process: `python -m services.mover.main serve`, and `work` for its jobs."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Answer the routes of moves and movers."""
    from libs.web.serving import serve_api
    from services.mover.api import API

    serve_api("mover", API)


def work() -> None:
    """Advance moves and draw replacements."""
    from libs.jobs.working import work_jobs
    from services.mover.tasks import JOBS

    work_jobs("mover", JOBS)


if __name__ == "__main__":
    run_command("services.mover.main", serve, work)
