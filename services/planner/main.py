"""Run the planner as a process: `python -m services.planner.main serve`, and `work` for its jobs."""

from __future__ import annotations

from libs.reconcile.command import run_command


def serve() -> None:
    """Answer the routes of planning and telemetry."""
    from libs.web.serving import serve_api
    from services.planner.api import API

    serve_api("planner", API)


def work() -> None:
    """Plan, sum measurements, and sum shards of spans that other machines sum."""
    from libs.jobs.working import work_jobs
    from services.planner.cycle_tasks import JOBS as CYCLES
    from services.planner.part_tasks import JOBS as PARTS
    from services.planner.plan_tasks import JOBS as PLANNING

    work_jobs("planner", PLANNING, CYCLES, PARTS)


if __name__ == "__main__":
    run_command("services.planner.main", serve, work)
