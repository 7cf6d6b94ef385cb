"""Kinds of jobs, which the tasks.py of a service declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from libs.domain.job import Job
from libs.jobs.lease import Lease
from libs.reconcile.clock import Clock
from libs.store.platform.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One attempt at a job, with its resources.

    Every commit must be a compare-and-swap on the values that were read, because a worker that hung for longer than its
    lease may still write. `lease.check()` raises LeaseLost, so that a long job can stop early.
    """

    job: Job
    database: Database
    clock: Clock
    lease: Lease


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs. An exception in `run` counts as a failed attempt.

    serves_many    an attempt serves many requesters, so its trace is only linked to the trace of the request for the
                   job
    """

    name: str
    run: Callable[[JobRun], None]
    serves_many: bool = False


def job(name: str, *, serves_many: bool = False) -> Callable[[Callable[[JobRun], None]], JobKind]:
    """Return a decorator that makes a function the JobKind called `name`: `@job("assess")`."""
    return lambda run: JobKind(name, run, serves_many)
