"""Request a plan once a week, at an hour that operators choose."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from structlog import get_logger

from libs.domain.plan_run import PlanTrigger
from libs.interchange.planning_inputs.tables import REQUIRED
from libs.reconcile.clock import Clock
from libs.reconcile.jobs import PLAN, WORLD
from libs.store.planner.plan_runs import create_plan_run, load_open_runs, was_scheduled
from libs.store.planner.planning_inputs import list_current
from libs.store.platform.database import Database
from libs.store.platform.jobs import enqueue
from services.planner.remote_regions import REGION_UNKNOWN

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SchedulePlanRuns:
    """Appends the week's scheduled run, unless it exists, another run is open, or all required inputs are missing.

    Weeks begin at `hour` UTC of `weekday` (0: Monday). One run makes up for all missed weeks. Idempotent within a week,
    but a run is appended again while regions did not answer.
    """

    database: Database
    clock: Clock
    weekday: int
    hour: int

    def reconcile(self) -> int | None:
        """Return the id of the run; None if none was added."""
        with self.database.write() as tx:
            if not {one.name for one in list_current(tx)} & {*REQUIRED}:
                log.info("plan.not_scheduled", reason="no inputs")
                return None
            if was_scheduled(tx, since=self._week(), passing=[REGION_UNKNOWN]):
                return None
            open_runs = load_open_runs(tx)
            run = next((r for r in open_runs if not r.dry_run), None)
            if run is None:
                run = create_plan_run(tx, trigger=PlanTrigger.SCHEDULE, now=self.clock.now())
            enqueue(tx, PLAN, WORLD)  # also if the run's job was given up
        return run.plan_run_id

    def _week(self) -> datetime:
        """Return the beginning of this week."""
        now = self.clock.now()
        begins = now.replace(hour=self.hour, minute=0, second=0, microsecond=0)
        begins -= timedelta(days=(begins.weekday() - self.weekday) % 7)
        return begins if begins <= now else begins - timedelta(days=7)
