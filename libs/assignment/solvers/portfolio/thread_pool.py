"""Solve subproblems in threads of this process. HiGHS releases the interpreter's lock while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from libs.assignment.solvers.portfolio.subproblem import Answer, Subproblem
from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem


class ThreadPool:
    """A pool with a thread per processor. Use it as a context manager, which ends the threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "subproblem")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        """Solve `one` in the next free thread."""
        return self._threads.submit(solve_subproblem, one, cancelled)
