"""The job that makes plans. It takes minutes and much memory, so it has a worker of its own."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import PLAN, WORLD
from libs.store.planner.plan_runs import load_open_runs
from libs.store.platform.jobs import enqueue
from services.planner import remote_regions
from services.planner.reconcilers.make_placement_plan import MakePlacementPlan
from services.planner.settings import PlannerSettings, read_plan_settings


@job(PLAN)
def plan(run: JobRun) -> None:
    """Run the oldest open plan run, and enqueue another job while runs remain."""
    settings = PlannerSettings.from_environment()
    regions = remote_regions.create()
    MakePlacementPlan(run.database, run.clock, settings, regions=regions, lost=lambda: run.lease.lost).reconcile()
    with run.database.write() as tx:
        if load_open_runs(tx):
            enqueue(tx, PLAN, WORLD)


JOBS = ServiceJobs(kinds=(plan,), read_settings=read_plan_settings)
