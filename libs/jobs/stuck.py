"""End a process whose job is stuck. Its lease would be renewed forever otherwise, and its subject would wait."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2


@contextmanager
def ended_when_stuck(limit_s: float) -> Iterator[None]:
    """Write the stacks of all threads to the log and end this process if the block takes longer than `limit_s` seconds.

    This needs no turn of Python, so it also ends a process in which a library never returns. One block at a time.
    """
    faulthandler.dump_traceback_later(limit_s, exit=True, file=_STDERR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
