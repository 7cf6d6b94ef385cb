"""The portal's kinds of jobs."""

from __future__ import annotations

from libs.carriers.reminder import ReminderSettings, ReminderWebhook
from libs.jobs.kinds import JobRun, job
from libs.jobs.working import ServiceJobs
from libs.reconcile.jobs import (
    ADVANCE_WINDOWS,
    ASSESS,
    ENQUEUE_ASSESSMENTS,
    FORGET_AUDIT,
    FORGET_IDEMPOTENCY_KEYS,
    FORGET_SESSIONS,
    REMIND_APPROVALS,
)
from services.portal.reconcilers.advance_windows import AdvanceWindows
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from services.portal.reconcilers.enqueue_assessments import EnqueueAssessments
from services.portal.reconcilers.forget_audit import ForgetAudit
from services.portal.reconcilers.forget_idempotency_keys import ForgetIdempotencyKeys
from services.portal.reconcilers.forget_sessions import ForgetSessions
from services.portal.reconcilers.keep_bookings import KeepBookings
from services.portal.reconcilers.remind_approvals import RemindApprovals
from services.portal.settings import AuditSettings, read_job_settings


@job(ASSESS)
def assess(run: JobRun) -> None:
    """Assess the capacity request whose id is the subject."""
    AssessCapacityRequest(run.database, run.clock, int(run.job.subject)).reconcile()


@job(ENQUEUE_ASSESSMENTS)
def enqueue_assessments(run: JobRun) -> None:
    """Queue waiting assessments without a job."""
    EnqueueAssessments(run.database, run.clock).reconcile()


@job(FORGET_IDEMPOTENCY_KEYS)
def forget_idempotency_keys(run: JobRun) -> None:
    """Keep the table of idempotency keys bounded."""
    ForgetIdempotencyKeys(run.database).reconcile()


@job(FORGET_SESSIONS)
def forget_sessions(run: JobRun) -> None:
    """Keep the table of sessions bounded."""
    ForgetSessions(run.database).reconcile()


@job(FORGET_AUDIT)
def forget_audit(run: JobRun) -> None:
    """Move old audit entries to files if a folder is named."""
    settings = AuditSettings()
    if settings.audit_dir is not None:
        ForgetAudit(run.database, run.clock, settings.audit_dir, settings.audit_kept_days).reconcile()


@job(ADVANCE_WINDOWS)
def advance_windows(run: JobRun) -> None:
    """Begin and end due reservations in the region that is the subject, then keep the bookings of later ones true."""
    AdvanceWindows(run.database, run.clock, run.job.subject).reconcile()
    KeepBookings(run.database, run.clock, run.job.subject).reconcile()


@job(REMIND_APPROVALS)
def remind_approvals(run: JobRun) -> None:
    """Remind people of what waits for them."""
    settings = ReminderSettings()
    sender = None if settings.url is None else ReminderWebhook(settings)
    RemindApprovals(run.database, run.clock, sender, settings.every_s, settings.attempts_max).reconcile()


KINDS = (
    assess,
    enqueue_assessments,
    forget_idempotency_keys,
    forget_sessions,
    forget_audit,
    advance_windows,
    remind_approvals,
)
JOBS = ServiceJobs(kinds=KINDS, read_settings=read_job_settings)
