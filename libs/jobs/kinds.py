"""What a service's tasks.py declares: kinds of jobs and what to do for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from libs.domain.job import Job
from libs.jobs.lease import Lease
from libs.reconcile.clock import Clock
from libs.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """One attempt at a job: what it is handed.

    Every commit must be a compare-and-swap on what was read: a worker that was stopped for longer than its lease may
    still write. `lease.check()` raises LeaseLost, so that a long job need not go on for nothing.
    """

    job: Job
    database: Database
    clock: Clock
    lease: Lease


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs. What `run` raises counts as a failed attempt.

    serves_many    an attempt goes on with the work of many, not of whoever asked for it: in traces it is linked to that
    """

    name: str
    run: Callable[[JobRun], None]
    serves_many: bool = False


def job(name: str, *, serves_many: bool = False) -> Callable[[Callable[[JobRun], None]], JobKind]:
    """Make a function the JobKind of this name: `@job("assess")`."""
    return lambda run: JobKind(name, run, serves_many)
