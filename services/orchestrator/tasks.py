"""The orchestrator's kinds of jobs."""

from __future__ import annotations

from libs.interchange.planning_inputs.service_reservations import service_reservations_of
from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import ADVANCE_EXECUTIONS
from libs.store.planner.planning_inputs import load_current
from services.orchestrator.reconcilers.advance_executions import AdvanceExecutions
from services.orchestrator.settings import OrchestratorSettings, read_job_settings


@job(ADVANCE_EXECUTIONS, serves_many=True)
def advance_executions(run: JobRun) -> None:
    """Advance every execution that has started and not ended."""
    with run.database.snapshot() as tx:
        found = load_current(tx, "service_reservations")
    rows = () if found is None else service_reservations_of(found[1])
    AdvanceExecutions(run.database, run.clock, OrchestratorSettings().systems(run.clock, rows)).reconcile()


JOBS = ServiceJobs(kinds=(advance_executions,), read_settings=read_job_settings)
