"""The portal's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.reconcile.jobs import ADVANCE_WINDOWS, ASSESS, ENQUEUE_ASSESSMENTS, FORGET_IDEMPOTENCY_KEYS
from services.portal.reconcilers.capacity_request_assess import CapacityRequestAssess
from services.portal.reconcilers.capacity_requests_enqueue import CapacityRequestsEnqueue
from services.portal.reconcilers.idempotency_keys_forget import IdempotencyKeysForget
from services.portal.reconcilers.windows_advance import WindowsAdvance


@job(ASSESS)
def assess(run: JobRun) -> None:
    """Assess the capacity request whose id is the subject."""
    CapacityRequestAssess(run.database, run.clock, int(run.job.subject)).reconcile()


@job(ENQUEUE_ASSESSMENTS)
def enqueue_assessments(run: JobRun) -> None:
    """Queue what waits to be assessed without a job."""
    CapacityRequestsEnqueue(run.database).reconcile()


@job(FORGET_IDEMPOTENCY_KEYS)
def forget_idempotency_keys(run: JobRun) -> None:
    """Keep the table of idempotency keys bounded."""
    IdempotencyKeysForget(run.database).reconcile()


@job(ADVANCE_WINDOWS)
def advance_windows(run: JobRun) -> None:
    """Begin and end the reservations of the region that is the subject, where their time has come."""
    WindowsAdvance(run.database, run.clock, run.job.subject).reconcile()


KINDS = (assess, enqueue_assessments, forget_idempotency_keys, advance_windows)
"""For make_celery."""
