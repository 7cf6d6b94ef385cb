"""Jobs and their leases. A lease is (job, worker, attempt) with an end on the database's clock.

Leases only avoid doing work twice at once. A late writer does no harm, because every commit is a compare-and-swap on
the values that it read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.job import Job, JobStatus
from libs.domain.page import Page
from libs.observability.traces import current_trace
from libs.store.platform.database import Locked, Transaction, briefly
from libs.store.platform.errors import told
from libs.store.tables import jobs

CHANNEL = "plimsoll_jobs"
"""Channel of NOTIFY. A notification says that there may be a job to send. PostgreSQL delivers it when the transaction
commits.
"""

_NOTIFY = sa.select(sa.func.pg_notify(CHANNEL, ""))
_COLUMNS = tuple(jobs.c[name] for name in Job.__dataclass_fields__)
_DOUBLINGS_MAX = 8
"""Largest number of doublings of the resend interval: with 10 s, an interval of up to 43 minutes."""
LANE_JOBS_MAX = 8
"""Largest number of jobs of one lane that are sent at a time. A lane is a group of jobs with a bounded number of turns,
such as the jobs of one owner.
"""
_CLAIM_WAIT_S, _TAKE_BACK_WAIT_S = 2.0, 0.1
"""Seconds to wait for a locked job. A transaction that asks for a job holds its row for milliseconds, unless it hangs.
"""
_ENDED = {"worker": None, "lease_expires_at": None}


def enqueue(
    tx: Transaction, kind: str, subject: str, arguments: Mapping[str, object] | None = None, *, lane: str | None = None
) -> int:
    """Ask for a job, wake the scheduler, and return the job's id. If a job of the same kind and subject is queued
    already, return the id of that job.

    lane   group of the job: of each (kind, lane) at most LANE_JOBS_MAX jobs are sent at a time

    The worker that claims the job sees the writes of this transaction: the queued row is locked until the commit.
    """
    job_id = put_job(tx, kind, subject, arguments, lane=lane)
    tx.execute(_NOTIFY)
    return job_id


def put_job(
    tx: Transaction, kind: str, subject: str, arguments: Mapping[str, object] | None = None, *, lane: str | None = None
) -> int:
    """Ask for a job like `enqueue`, without waking the scheduler. The scheduler itself uses it."""
    values = {"kind": kind, "subject": subject, "arguments": dict(arguments or {}), "lane": lane}
    statement = insert(jobs).values(**values, status=JobStatus.QUEUED, created_at=sa.func.now(), trace=current_trace())
    statement = statement.on_conflict_do_update(
        index_elements=["kind", "subject"],
        index_where=jobs.c.status == sa.literal_column("'queued'"),
        # Update even if nothing changes, to lock the row.
        set_={"trace": sa.func.coalesce(jobs.c.trace, statement.excluded.trace)},
    )
    job_id: int = tx.execute(statement.returning(jobs.c.job_id)).scalar_one()
    return job_id


def list_jobs(
    tx: Transaction, *, status: JobStatus | None = None, after: int | None = None, limit: int = 100
) -> Page[Job]:
    """Return a page of jobs by id; `after` is the id that the last page ended with."""
    query = sa.select(*_COLUMNS).where(jobs.c.job_id > (after or 0)).order_by(jobs.c.job_id).limit(limit + 1)
    if status is not None:
        query = query.where(jobs.c.status == status)
    return Page.of([_job(row) for row in tx.execute(query).mappings()], limit, lambda job: job.job_id)


def resend_after_s(resend_s: float, sends: int) -> float:
    """Return the seconds until a message expires and is sent again, after `sends` earlier messages.

    The interval doubles each time. With a constant interval, a queue with a longer wait would hold only expired
    messages, and no job would ever begin.
    """
    return resend_s * float(2 ** min(sends, _DOUBLINGS_MAX))


def load_unsent(tx: Transaction, *, resend_s: float) -> tuple[Job, ...]:
    """Return the queued jobs that can run now and need a message: no message was sent, or the message has expired."""
    running = jobs.alias("running")
    nth = sa.func.row_number().over(partition_by=(jobs.c.kind, jobs.c.lane), order_by=jobs.c.job_id)
    lanes = (
        sa.select(jobs.c.job_id, nth.label("nth"))
        .where(jobs.c.lane.is_not(None), jobs.c.status.in_((JobStatus.QUEUED, JobStatus.RUNNING)))
        .subquery()
    )
    held_back = sa.select(lanes.c.job_id).where(lanes.c.nth > LANE_JOBS_MAX)
    waited_for = _seconds(resend_s) * sa.func.power(
        2, sa.func.least(sa.func.greatest(jobs.c.sends - 1, 0), _DOUBLINGS_MAX)
    )
    query = sa.select(*_COLUMNS).where(
        jobs.c.status == JobStatus.QUEUED,
        sa.or_(jobs.c.sent_at.is_(None), jobs.c.sent_at < sa.func.now() - waited_for),
        ~sa.exists().where(
            running.c.kind == jobs.c.kind, running.c.subject == jobs.c.subject, running.c.status == JobStatus.RUNNING
        ),
        jobs.c.job_id.not_in(held_back),
    )
    return tuple(_job(row) for row in tx.execute(query.order_by(jobs.c.job_id)).mappings())


def mark_sent(tx: Transaction, job_ids: Sequence[int]) -> None:
    """Record that the messages of `job_ids` were sent. Skip locked rows, because a second message is harmless and
    waiting for a lock is not.
    """
    chosen = (
        sa.select(jobs.c.job_id)
        .where(jobs.c.job_id.in_(job_ids), jobs.c.status == JobStatus.QUEUED)
        .with_for_update(skip_locked=True)
    )
    tx.execute(sa.update(jobs).where(jobs.c.job_id.in_(chosen)).values(sent_at=sa.func.now(), sends=jobs.c.sends + 1))


def claim_job(tx: Transaction, job_id: int, *, worker: str, lease_s: float) -> Job | None:
    """Begin a queued job. Return None if the job is begun or finished, or if another job of its subject runs.

    Return None also if a hanging transaction has locked the job. The scheduler then sends it again.
    """
    claim = (
        sa.update(jobs)
        .where(jobs.c.job_id == job_id, jobs.c.status == JobStatus.QUEUED)
        .values(
            status=JobStatus.RUNNING,
            attempts=jobs.c.attempts + 1,
            worker=worker,
            lease_expires_at=sa.func.now() + _seconds(lease_s),
        )
    )
    try:
        with briefly(tx, _CLAIM_WAIT_S):
            row = tx.execute(claim.returning(*_COLUMNS)).mappings().one_or_none()
    except (sa.exc.IntegrityError, Locked):  # uq_jobs_running: the running job has this one sent again when it ends
        return None
    return None if row is None else _job(row)


def renew_lease(tx: Transaction, job: Job, *, lease_s: float) -> bool:
    """Renew the lease of a claimed job. Return False if the lease is lost."""
    statement = sa.update(jobs).where(*_leased(job)).values(lease_expires_at=sa.func.now() + _seconds(lease_s))
    return tx.execute(statement).rowcount == 1


def finish_job(tx: Transaction, job: Job) -> bool:
    """Mark a claimed job as done. Return False, and change nothing, if the lease is lost."""
    values = {"status": JobStatus.DONE, "error": None, "finished_at": sa.func.now(), **_ENDED}
    return _end(tx, job, sa.update(jobs).where(*_leased(job)).values(values))


def fail_attempt(tx: Transaction, job: Job, error: str, *, attempts_max: int) -> bool:
    """Queue the job again after a failed attempt, or fail it for good after attempts_max.

    A job that is queued again counts as sent just now, so that it is sent again after the resend interval. If another
    job of the same subject is queued, that one supersedes `job`. Return False if the lease is lost.
    """
    return _end(tx, job, _give_up(attempts_max, sa.func.now(), sa.literal(told(error))).where(*_leased(job)))


def take_back_expired(tx: Transaction, *, attempts_max: int) -> tuple[Job, ...]:
    """Queue the jobs whose lease has expired again, or fail them after `attempts_max` attempts. One whose successor is
    queued is superseded. Return these jobs in their new state.

    Skip a job if its row is locked or its subject is being enqueued. The next call takes it.
    """
    expired = (jobs.c.status == JobStatus.RUNNING, jobs.c.lease_expires_at < sa.func.now())
    chosen = sa.select(jobs.c.job_id).where(*expired).order_by(jobs.c.job_id).with_for_update(skip_locked=True)
    error = sa.func.concat("the worker ", jobs.c.worker, " died or lost the database").cast(sa.Text)
    statement = _give_up(attempts_max, sa.null(), error).returning(*_COLUMNS)
    found = []
    for job_id in tx.execute(chosen).scalars().all():
        with suppress(sa.exc.IntegrityError, Locked), briefly(tx, _TAKE_BACK_WAIT_S):  # uq_jobs_queued
            row = tx.execute(statement.where(jobs.c.job_id == job_id)).mappings().one()
            found.append(_job(row))
    return tuple(found)


def drop_queued(tx: Transaction, kind: str, subject: str) -> bool:
    """Delete the queued job of a subject, because no work is left. Return False if no job is queued."""
    waits = (jobs.c.kind == kind, jobs.c.subject == subject, jobs.c.status == JobStatus.QUEUED)
    return tx.execute(sa.delete(jobs).where(*waits)).rowcount == 1


def purge_jobs(tx: Transaction, *, done_s: float, failed_s: float) -> int:
    """Delete jobs that were done or superseded more than `done_s` seconds ago, and jobs that failed more than
    `failed_s` seconds ago. Return the number of deleted jobs.
    """
    ages = ((JobStatus.DONE, done_s), (JobStatus.SUPERSEDED, done_s), (JobStatus.FAILED, failed_s))
    old = [sa.and_(jobs.c.status == status, jobs.c.finished_at < sa.func.now() - _seconds(s)) for status, s in ages]
    return tx.execute(sa.delete(jobs).where(sa.or_(*old))).rowcount


def _leased(job: Job) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        jobs.c.job_id == job.job_id,
        jobs.c.status == JobStatus.RUNNING,
        jobs.c.worker == job.worker,
        jobs.c.attempts == job.attempts,
    )


def _give_up(attempts_max: int, sent_at: sa.ColumnElement[Any], error: sa.ColumnElement[str]) -> sa.Update:
    waiting = jobs.alias("waiting")
    successor = sa.exists().where(
        waiting.c.kind == jobs.c.kind, waiting.c.subject == jobs.c.subject, waiting.c.status == JobStatus.QUEUED
    )
    spent = jobs.c.attempts >= attempts_max
    over = sa.or_(spent, successor)
    return sa.update(jobs).values(
        status=sa.case(
            (spent, JobStatus.FAILED.value), (successor, JobStatus.SUPERSEDED.value), else_=JobStatus.QUEUED.value
        ),
        finished_at=sa.case((over, sa.func.now()), else_=None),
        sent_at=sent_at,
        sends=0,
        error=error,
        **_ENDED,
    )


def _end(tx: Transaction, job: Job, statement: sa.Update) -> bool:
    """End the lease of `job` with `statement`. Let the queued job of the same subject be sent, and wake the scheduler,
    because the lane has a free turn.

    A worker may have turned down the queued job while `job` ran.
    """
    waiting = (jobs.c.kind == job.kind, jobs.c.subject == job.subject, jobs.c.status == JobStatus.QUEUED)
    waits = tx.execute(
        sa.update(jobs).where(*waiting, jobs.c.job_id != job.job_id).values(sent_at=None, sends=0)
    ).rowcount
    ended = tx.execute(statement).rowcount == 1
    if ended and (waits or _lane_waits(tx, job)):
        tx.execute(_NOTIFY)
    return ended


def _lane_waits(tx: Transaction, job: Job) -> bool:
    if job.lane is None:
        return False
    unsent = (jobs.c.lane == job.lane, jobs.c.status == JobStatus.QUEUED, jobs.c.sent_at.is_(None))
    return tx.execute(sa.select(sa.exists().where(jobs.c.kind == job.kind, *unsent))).scalar_one()


def _seconds(duration_s: float) -> sa.ColumnElement[Any]:
    return sa.func.make_interval(0, 0, 0, 0, 0, 0, duration_s)


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "status": JobStatus(row["status"])})
