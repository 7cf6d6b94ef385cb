"""Run the solver as a process: `python -m services.solver.main serve`, and `work` for its jobs."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Answer the routes of solve runs and simulations."""
    from libs.web.serving import serve_api
    from services.solver.api import API

    serve_api("solver", API)


def work() -> None:
    """Solve regions, run simulations, and solve parts of what other machines solve."""
    from libs.jobs.working import work_jobs
    from services.solver import part_tasks, tasks

    work_jobs("solver", tasks.JOBS, part_tasks.JOBS)


if __name__ == "__main__":
    run_command("services.solver.main", serve, work)
