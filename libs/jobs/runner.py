"""The handling of a message by a worker: claim the job, run it, record its end."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache

import structlog
from opentelemetry.trace import Span, SpanKind
from structlog import get_logger

from libs.domain.job import Job
from libs.jobs.kinds import JobKind, JobRun
from libs.jobs.lease import Lease, LeaseLost
from libs.jobs.settings import WorkerSettings
from libs.jobs.stuck import ended_when_stuck
from libs.observability.tallies import JOB_S, JOBS
from libs.observability.traces import flush_traces, span
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.store.platform.database import Database, Transaction
from libs.store.platform.jobs import claim_job, fail_attempt, finish_job
from libs.store.platform.tallies import write_tallies

log = get_logger(__name__)
_ERROR_LENGTH_MAX = 2000


class JobRunner:
    """Runs jobs in one process. `worker` names the process in leases."""

    def __init__(self, database: Database, clock: Clock, settings: WorkerSettings) -> None:
        self._database, self._clock, self._settings = database, clock, settings
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"

    def run(self, kind: JobKind, job_id: int) -> None:
        """Run a job, unless it cannot be claimed. Its exceptions are stored with the job, not raised."""
        lease_s = self._settings.job_lease_s
        crash_point("jobs.claim.before")
        with self._database.write() as tx:
            job = claim_job(tx, job_id, worker=self.worker, lease_s=lease_s)
        if job is None:
            log.debug("job.not_claimed", job_id=job_id, kind=kind.name)
            return
        crash_point("jobs.claim.after")
        with (
            structlog.contextvars.bound_contextvars(job_id=job_id, kind=job.kind, subject=job.subject),
            ended_when_stuck(self._settings.job_s_max),
            Lease(self._database, job, lease_s=lease_s, heartbeat_s=self._settings.job_heartbeat_s) as lease,
        ):
            began_s = time.perf_counter()
            try:
                with self._span(kind, job):
                    kind.run(JobRun(job=job, database=self._database, clock=self._clock, lease=lease))
            except LeaseLost:
                JOBS.count(job.kind, "lease_lost")
                log.warning("job.given_up", attempt=job.attempts)
                return
            except Exception as error:
                log.exception("job.raised", attempt=job.attempts)
                JOBS.count(job.kind, "raised")
                JOB_S.observe(time.perf_counter() - began_s, job.kind)
                text = f"{type(error).__name__}: {error}"[:_ERROR_LENGTH_MAX]
                attempts_max = self._settings.job_attempts_max
                self._end(job, lambda tx: fail_attempt(tx, job, text, attempts_max=attempts_max))
            else:
                JOBS.count(job.kind, "done")
                JOB_S.observe(time.perf_counter() - began_s, job.kind)
                self._end(job, lambda tx: finish_job(tx, job))
        flush_traces()  # a pool process may end after every job

    def _span(self, kind: JobKind, job: Job) -> AbstractContextManager[Span]:
        """Return a tracing span of the attempt, within the trace of the request for the job. If the kind serves many
        requesters, only link the span to that trace.
        """
        about: dict[str, str | int] = {
            "plimsoll.job_id": job.job_id,
            "plimsoll.subject": job.subject,
            "plimsoll.attempt": job.attempts,
        }
        if kind.serves_many and job.trace is not None:
            return span(f"job {kind.name}", about, kind=SpanKind.CONSUMER, link=job.trace)
        return span(f"job {kind.name}", about, kind=SpanKind.CONSUMER, parent=job.trace)

    def _end(self, job: Job, write: Callable[[Transaction], bool]) -> None:
        crash_point("jobs.finish.before")
        with self._database.write() as tx:
            ended = write(tx)
        crash_point("jobs.finish.after")
        write_tallies(self._database)
        if not ended:
            log.warning("job.ended_late", attempt=job.attempts)


@cache
def runner_of_process(pid: int) -> JobRunner:
    """Return the runner of this process. Connections do not survive a fork, so every pool process makes its own."""
    settings = WorkerSettings.from_environment()
    return JobRunner(Database.from_settings(settings), settings.clock(), settings)
