"""Points at which a test may kill the process, to see that nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

KILLED_AT = "killed at crash point "
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("crash_listener", default=None)


def crash_point(name: str) -> None:
    """Kill this process at once if PLIMSOLL_CRASH_AT lists `name`; spaces separate names. The effect is that of a power
    cut. The last line on standard error names the point.

    In a context with a listener, call it with the name instead.
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(name)
    elif name in os.environ.get("PLIMSOLL_CRASH_AT", "").split():
        os.write(2, f"{KILLED_AT}{name}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def crash_points_heard(listener: Callable[[str], None]) -> Iterator[None]:
    """Pass the crash points that the block reaches to `listener`.

    A listener that raises an exception of its own, derived from BaseException, ends a job as a kill would: nothing
    handles it, open transactions roll back, and the lease stays until it expires.
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
