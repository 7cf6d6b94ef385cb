"""The broker's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from services.broker.reconcilers.servers_refresh import ServersRefresh


@job("refresh_unavailability")
def refresh_unavailability(run: JobRun) -> None:
    """Refresh the region that is the subject."""
    ServersRefresh(run.database, run.clock, run.job.subject).reconcile()


KINDS = (refresh_unavailability,)
"""For make_celery."""
