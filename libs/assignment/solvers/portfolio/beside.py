"""Do a task in a thread of its own beside a search. The task must leave the interpreter's lock to others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """A task that has begun. As a context manager it tells the task to end at the end of the context."""

    def __init__(self, task: Callable[[Callable[[], bool]], T], cancelled: Callable[[], bool] | None = None) -> None:
        """Begin `task`. It is given a function that returns whether to end, which also asks `cancelled`."""
        self._over, self._cancelled = False, cancelled
        self._thread = ThreadPoolExecutor(1, "beside")
        self._found = self._thread.submit(task, self._ends)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._thread.shutdown()

    def result(self) -> T:
        """Wait for the task, and return its result or raise its error."""
        return self._found.result()

    @property
    def is_over(self) -> bool:
        """Whether the task has its result."""
        return self._found.done()

    def end(self) -> None:
        """Tell the task to end, and do not wait for it."""
        self._over = True

    def ended(self) -> T:
        """Tell the task to end, and return what it has."""
        self.end()
        return self._found.result()

    def _ends(self) -> bool:
        return self._over or (self._cancelled is not None and self._cancelled())
