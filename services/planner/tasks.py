"""The planner's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.store.jobs import enqueue
from libs.store.plan_runs import load_open_runs
from libs.store.schedules import WORLD
from services.planner.reconcilers.placement_plan_make import PlacementPlanMake
from services.planner.reconcilers.plan_runs_schedule import PLAN, PlanRunsSchedule
from services.planner.reconcilers.planning_forget import PlanningForget
from services.planner.settings import CycleSettings, PlannerSettings, Weekday
from services.planner.telemetry_tasks import KINDS as TELEMETRY

SCHEDULE_PLAN = "schedule_plan"


@job(PLAN)
def plan(run: JobRun) -> None:
    """Carry out the oldest open plan run, and ask again while there are others."""
    settings = PlannerSettings()  # type: ignore[call-arg]  # from the environment
    PlacementPlanMake(run.database, run.clock, settings, lost=lambda: run.lease.lost).reconcile()
    with run.database.write() as tx:
        if load_open_runs(tx):
            enqueue(tx, PLAN, WORLD)


@job(SCHEDULE_PLAN, serves_many=True)
def schedule_plan(run: JobRun) -> None:
    """Ask for the plan of the week, where it is due."""
    settings = CycleSettings()
    weekday = list(Weekday).index(settings.plan_weekday)
    PlanRunsSchedule(run.database, run.clock, weekday, settings.plan_hour).reconcile()


@job("forget_planning")
def forget_planning(run: JobRun) -> None:
    """Forget old runs and inputs."""
    settings = CycleSettings()
    PlanningForget(run.database, run.clock, settings.history_kept_days, settings.executed_plans).reconcile()


PLANNING = (plan,)
"""Takes minutes and much memory: for a worker of its own."""
BESIDE = (schedule_plan, forget_planning, *TELEMETRY)
"""Short, and not to wait for a plan."""
KINDS = (*PLANNING, *BESIDE)
"""For make_celery."""
