"""A job: work of one kind for one subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobStatus(StrEnum):
    """Status of a job: queued -> running -> done | superseded | failed.

    A failed attempt queues the job again, a bounded number of times. An attempt fails when it raises, or when its
    worker dies. If another job of the subject waits by then, the job is superseded: the other one does its work. A job
    has failed only if it spent all of its attempts.
    """

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    SUPERSEDED = "superseded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job. Its times are the database's own, in real time.

    subject     the object of the work, such as a region; of each (kind, subject), at most one job runs and one waits
    arguments   hints only: if a job of the (kind, subject) waits already, a new request is dropped, with its arguments
    attempts    number of attempts so far; together with `worker` it identifies the lease
    error       why the last attempt failed
    sends       how often the job's message was sent since the job was queued
    lane        group of jobs that share a bounded number of turns, such as an owner; None: no group
    trace       W3C traceparent of the request that asked for the job; None without tracing
    """

    job_id: int
    kind: str
    subject: str
    arguments: Mapping[str, object]
    status: JobStatus
    attempts: int
    worker: str | None
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    sends: int
    trace: str | None
    lane: str | None = None
