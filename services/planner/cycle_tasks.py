"""The planner's short jobs. They must not wait for a plan, so this module imports no planning code."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import FORGET_PLANNING, SCHEDULE_PLAN
from services.planner.reconcilers.forget_planning import ForgetPlanning
from services.planner.reconcilers.schedule_plan_runs import SchedulePlanRuns
from services.planner.settings import CycleSettings, Weekday, read_cycle_settings
from services.planner.telemetry_tasks import KINDS as TELEMETRY


@job(SCHEDULE_PLAN, serves_many=True)
def schedule_plan(run: JobRun) -> None:
    """Request the weekly plan if it is due."""
    settings = CycleSettings()
    weekday = list(Weekday).index(settings.plan_weekday)
    SchedulePlanRuns(run.database, run.clock, weekday, settings.plan_hour).reconcile()


@job(FORGET_PLANNING)
def forget_planning(run: JobRun) -> None:
    """Delete old runs and inputs."""
    settings = CycleSettings()
    ForgetPlanning(run.database, run.clock, settings.history_kept_days, settings.executed_plans).reconcile()


JOBS = ServiceJobs(kinds=(schedule_plan, forget_planning, *TELEMETRY), read_settings=read_cycle_settings)
