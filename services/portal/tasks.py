"""The portal's kinds of jobs."""

from __future__ import annotations

from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import ADVANCE_WINDOWS, ASSESS, ENQUEUE_ASSESSMENTS, FORGET_IDEMPOTENCY_KEYS
from services.portal.reconcilers.advance_windows import AdvanceWindows
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.portal.reconcilers.enqueue_assessments import EnqueueAssessments
from services.portal.reconcilers.forget_idempotency_keys import ForgetIdempotencyKeys


@job(ASSESS)
def assess(run: JobRun) -> None:
    """Assess the capacity request whose id is the subject."""
    AssessCapacityRequest(run.database, run.clock, int(run.job.subject)).reconcile()


@job(ENQUEUE_ASSESSMENTS)
def enqueue_assessments(run: JobRun) -> None:
    """Queue waiting assessments without a job."""
    EnqueueAssessments(run.database).reconcile()


@job(FORGET_IDEMPOTENCY_KEYS)
def forget_idempotency_keys(run: JobRun) -> None:
    """Keep the table of idempotency keys bounded."""
    ForgetIdempotencyKeys(run.database).reconcile()


@job(ADVANCE_WINDOWS)
def advance_windows(run: JobRun) -> None:
    """Begin and end due reservations in the region that is the subject."""
    AdvanceWindows(run.database, run.clock, run.job.subject).reconcile()


KINDS = (assess, enqueue_assessments, forget_idempotency_keys, advance_windows)
JOBS = ServiceJobs(kinds=KINDS)
