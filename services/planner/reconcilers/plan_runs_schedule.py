"""The weekly cycle asks for a plan, as a person would."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from libs.domain.plan_run import PlanTrigger
from libs.interchange.input_tables import REQUIRED
from libs.reconcile.clock import Clock
from libs.store.database import Database
from libs.store.jobs import enqueue
from libs.store.plan_runs import create_plan_run, load_open_runs
from libs.store.planning_inputs import list_current
from libs.store.schedules import WORLD

log = structlog.get_logger()
PLAN = "plan"
"""The kind of job that carries plan runs out."""


@dataclass(frozen=True, slots=True)
class PlanRunsSchedule:
    """Appends a scheduled run, unless one is open already, or nobody has put any of what a plan needs."""

    database: Database
    clock: Clock

    def reconcile(self) -> int | None:
        """The id of the run; None where none was asked for."""
        with self.database.write() as tx:
            if not {one.name for one in list_current(tx)} & {*REQUIRED}:
                log.info("plan.not_scheduled", reason="no inputs")
                return None
            open_runs = load_open_runs(tx)
            run = next((r for r in open_runs if not r.dry_run), None)
            if run is None:
                run = create_plan_run(tx, trigger=PlanTrigger.SCHEDULE, now=self.clock.now())
            enqueue(tx, PLAN, WORLD)  # also for one whose job was given up
        return run.plan_run_id
