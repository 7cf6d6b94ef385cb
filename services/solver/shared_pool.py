"""Solve the subproblems of a region here and on workers of other machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from libs.assignment import Answer, Pool, Subproblem, solve_subproblem
from libs.interchange.job_parts.subproblem import read_answer, read_subproblem, write_answer, write_subproblem
from libs.jobs.settings import JobSettings
from libs.jobs.shared_parts import Part, SharedParts, Unwanted
from libs.reconcile.jobs import SOLVE_PART
from libs.store.platform.database import Database


@contextmanager
def solving_pool(database: Database, settings: JobSettings) -> Iterator[Pool | None]:
    """Yield the pool of a solve; None if its parts are not shared."""
    if not settings.job_parts_shared:
        yield None
        return
    threads = os.cpu_count() or 1
    with SharedParts(database, SOLVE_PART, wanted_s=settings.job_lease_s, threads=threads) as parts:
        yield SharedPool(parts)


class SharedPool:
    """A pool of the assignment library whose subproblems are parts of a job."""

    def __init__(self, parts: SharedParts) -> None:
        self._parts = parts

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        """Solve `one` in a thread of this process, or on a worker that takes it before."""

        def solve(unwanted: Unwanted) -> Answer:
            return solve_subproblem(one, lambda: unwanted() or (cancelled is not None and cancelled()))

        part = Part(solve=solve, write=lambda: write_subproblem(one), read=lambda content: read_answer(content, one))
        return self._parts.submit(part)


def answer_subproblem(content: bytes, unwanted: Unwanted) -> bytes | None:
    """Return the answer to the subproblem `content`; None if the time or the lease ended before it."""
    answer = solve_subproblem(read_subproblem(content), unwanted)
    return None if answer.timed_out else write_answer(answer)
