"""Solve subproblems in threads of this process. HiGHS releases the interpreter's lock while it runs."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Self

from libs.assignment.solvers.portfolio.subproblem import Answer, Subproblem
from libs.assignment.solvers.portfolio.subproblem_solver import solve_subproblem


class ThreadPool:
    """A pool with a thread per processor. Use it as a context manager, which ends the threads.

    Searches for bounds take turns with all others, so that neither waits until the other is done.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, "subproblem")
        self._lock = threading.Lock()
        self._waiting: dict[bool, deque[tuple[Callable[[], Answer], Future[Answer]]]] = {True: deque(), False: deque()}
        self._bounds_next = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()

    def submit(self, one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Future[Answer]:
        """Solve `one` in a thread when its turn comes."""
        found = Future[Answer]()
        with self._lock:
            self._waiting[one.bounds].append((partial(solve_subproblem, one, cancelled), found))
        self._threads.submit(self._solve_next)
        return found

    def _solve_next(self) -> None:
        with self._lock:
            bounds = self._bounds_next if self._waiting[self._bounds_next] else not self._bounds_next
            solve, found = self._waiting[bounds].popleft()
            self._bounds_next = not bounds
        try:
            found.set_result(solve())
        except BaseException as error:  # the caller asks for the result
            found.set_exception(error)
