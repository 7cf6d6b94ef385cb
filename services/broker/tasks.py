"""The broker's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import FINISH_RETIREMENTS, REFRESH_UNAVAILABILITY
from services.broker.reconcilers.finish_retirements import FinishRetirements
from services.broker.reconcilers.refresh_unavailability import RefreshUnavailability


@job(REFRESH_UNAVAILABILITY)
def refresh_unavailability(run: JobRun) -> None:
    """Refresh the region that is the subject."""
    RefreshUnavailability(run.database, run.clock, run.job.subject).reconcile()


@job(FINISH_RETIREMENTS)
def finish_retirements(run: JobRun) -> None:
    """Finish retirements in the region that is the subject."""
    FinishRetirements(run.database, run.clock, run.job.subject).reconcile()


KINDS = (refresh_unavailability, finish_retirements)
JOBS = ServiceJobs(kinds=KINDS)
