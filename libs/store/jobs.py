"""Jobs and their leases. A lease is (job, worker, attempt) with an end on the database's own clock.

Leases only keep work from being done twice at once. What makes a late writer harmless is that every commit is a
compare-and-swap on what it read.
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
from libs.store.database import Locked, Transaction, briefly
from libs.store.errors import told
from libs.store.refusals import NotFound
from libs.store.tables import jobs

CHANNEL = "plimsoll_jobs"
"""NOTIFY on it says that there may be something to send. It is delivered by the commit of its transaction."""

_NOTIFY = sa.select(sa.func.pg_notify(CHANNEL, ""))
_COLUMNS = tuple(jobs.c[name] for name in Job.__dataclass_fields__)
_DOUBLINGS_MAX = 8
"""Of the time that a message is waited for: with a resend after 10 s, up to 43 minutes."""
LANE_JOBS_MAX = 8
"""Of one lane that are sent at a time: another's job waits behind these at most, however many wait."""
_CLAIM_WAIT_S, _TAKE_BACK_WAIT_S = 2.0, 0.1
"""A transaction that asks for a job holds its row for milliseconds. One that holds it for longer stands still."""
_ENDED = {"worker": None, "lease_expires_at": None}


def enqueue(
    tx: Transaction, kind: str, subject: str, arguments: Mapping[str, object] | None = None, *, lane: str | None = None
) -> int:
    """Ask for a job; the id of the one that will do it, which may be one that waits already. Wakes the scheduler.

    lane   of the jobs of a kind and lane only a few are sent at a time, so that none of the others waits behind many

    Whoever claims it sees what this transaction writes: the row that waits is locked until the commit.
    """
    job_id = put_job(tx, kind, subject, arguments, lane=lane)
    tx.execute(_NOTIFY)
    return job_id


def put_job(
    tx: Transaction, kind: str, subject: str, arguments: Mapping[str, object] | None = None, *, lane: str | None = None
) -> int:
    """As enqueue, for the scheduler itself: it is awake, and would wake itself for ever."""
    values = {"kind": kind, "subject": subject, "arguments": dict(arguments or {}), "lane": lane}
    statement = insert(jobs).values(**values, status=JobStatus.QUEUED, created_at=sa.func.now(), trace=current_trace())
    statement = statement.on_conflict_do_update(
        index_elements=["kind", "subject"],
        index_where=jobs.c.status == sa.literal_column("'queued'"),
        # Locks, even where it changes nothing.
        set_={"trace": sa.func.coalesce(jobs.c.trace, statement.excluded.trace)},
    )
    job_id: int = tx.execute(statement.returning(jobs.c.job_id)).scalar_one()
    return job_id


def load_job(tx: Transaction, job_id: int) -> Job:
    """One job. Raises NotFound."""
    row = tx.execute(sa.select(*_COLUMNS).where(jobs.c.job_id == job_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("job", job_id)
    return _job(row)


def list_jobs(
    tx: Transaction, *, status: JobStatus | None = None, after: int | None = None, limit: int = 100
) -> Page[Job]:
    """Jobs in the order in which they were asked for; `after` is the id that the page starts behind."""
    query = sa.select(*_COLUMNS).where(jobs.c.job_id > (after or 0)).order_by(jobs.c.job_id).limit(limit + 1)
    if status is not None:
        query = query.where(jobs.c.status == status)
    return Page.of([_job(row) for row in tx.execute(query).mappings()], limit, lambda job: job.job_id)


def resend_after_s(resend_s: float, sends: int) -> float:
    """How long the message that is sent after `sends` others is waited for, and how long it is good.

    Each is given twice the time of the one before. Were it always the same, a queue in which messages wait for longer
    would hold nothing but messages that have expired, and no job of it would ever be begun.
    """
    return resend_s * float(2 ** min(sends, _DOUBLINGS_MAX))


def load_unsent(tx: Transaction, *, resend_s: float) -> tuple[Job, ...]:
    """Jobs that could run now, and whose message was not sent yet or so long ago that it must be lost."""
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
    """Their messages are out. A row that somebody holds is left: sending again does no harm, waiting would."""
    chosen = (
        sa.select(jobs.c.job_id)
        .where(jobs.c.job_id.in_(job_ids), jobs.c.status == JobStatus.QUEUED)
        .with_for_update(skip_locked=True)
    )
    tx.execute(sa.update(jobs).where(jobs.c.job_id.in_(chosen)).values(sent_at=sa.func.now(), sends=jobs.c.sends + 1))


def claim_job(tx: Transaction, job_id: int, *, worker: str, lease_s: float) -> Job | None:
    """Begin a queued job. None where it is not to be had: begun, finished, or another one of its subject runs.

    None, too, where a transaction that asks for it stands still: no worker waits for that. It is sent again.
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
    except (sa.exc.IntegrityError, Locked):  # uq_jobs_running: the one that runs has this one sent again when it ends
        return None
    return None if row is None else _job(row)


def renew_lease(tx: Transaction, job: Job, *, lease_s: float) -> bool:
    """Keep a claimed job for another while; False where the lease is no longer ours."""
    statement = sa.update(jobs).where(*_leased(job)).values(lease_expires_at=sa.func.now() + _seconds(lease_s))
    return tx.execute(statement).rowcount == 1


def finish_job(tx: Transaction, job: Job) -> bool:
    """A claimed job is done; False where the lease is no longer ours, and then nothing changes."""
    values = {"status": JobStatus.DONE, "error": None, "finished_at": sa.func.now(), **_ENDED}
    return _end(tx, job, sa.update(jobs).where(*_leased(job)).values(values))


def fail_attempt(tx: Transaction, job: Job, error: str, *, attempts_max: int) -> bool:
    """An attempt raised: queue the job again for later, or fail it for good after so many.

    Later: its message counts as sent just now, so that it is sent again when a lost one would be. A job of the same
    subject that waits takes over from it. False where the lease is no longer ours.
    """
    return _end(tx, job, _give_up(attempts_max, sa.func.now(), sa.literal(told(error))).where(*_leased(job)))


def take_back_expired(tx: Transaction, *, attempts_max: int) -> tuple[Job, ...]:
    """Queue jobs whose worker let the lease expire, or fail them after so many attempts; as they are then.

    One whose row is held, or whose subject is asked for at this very moment, is left for the next time.
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
    """There is nothing left to do for this subject: the job that waits for it goes. False where none waits."""
    waits = (jobs.c.kind == kind, jobs.c.subject == subject, jobs.c.status == JobStatus.QUEUED)
    return tx.execute(sa.delete(jobs).where(*waits)).rowcount == 1


def purge_jobs(tx: Transaction, *, done_s: float, failed_s: float) -> int:
    """Forget jobs that ended so long ago; how many."""
    ages = ((JobStatus.DONE, done_s), (JobStatus.FAILED, failed_s))
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
    over = sa.or_(jobs.c.attempts >= attempts_max, successor)
    return sa.update(jobs).values(
        status=sa.case((over, JobStatus.FAILED.value), else_=JobStatus.QUEUED.value),
        finished_at=sa.case((over, sa.func.now()), else_=None),
        sent_at=sent_at,
        sends=0,
        error=error,
        **_ENDED,
    )


def _end(tx: Transaction, job: Job, statement: sa.Update) -> bool:
    """End a lease, and have what waited for it sent: of its subject, turned away meanwhile perhaps, and of its lane."""
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
