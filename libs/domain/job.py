"""A job: something to do for one subject, told apart by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class JobStatus(StrEnum):
    """queued -> running -> done | failed; queued again, so many times at most, when its worker dies or it raises."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job. Its times are the database's own, in real time.

    subject     what it is about, such as a region: one job of a (kind, subject) runs at a time, one more may wait
    arguments   hints only: a job that is asked for while one waits is that one, with that one's arguments
    attempts    how often it was begun; with `worker` it names the lease
    error       why the last attempt did not finish
    sends       how often its message was sent since it was queued
    lane        whose jobs share a few turns, such as an owner; None: it waits for its own turn only
    trace       W3C traceparent of whoever asked for it; None where nobody traces
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
