"""How much that loads a whole region and solves may run at once in one process that also answers others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from libs.web.problems import Problem

AT_ONCE_MAX = 2
"""More at a time would keep the process from answering anything else."""
_slots = BoundedSemaphore(AT_ONCE_MAX)


@contextmanager
def solving_slot() -> Iterator[None]:
    """One of the slots. Raises Problem (503) where none is free: whoever asks tries again, instead of waiting here."""
    if not _slots.acquire(blocking=False):
        detail = f"{AT_ONCE_MAX} dry runs or explanations are under way. Try again in a few seconds."
        raise Problem(503, "unavailable", detail, headers={"Retry-After": "2"})
    try:
        yield
    finally:
        _slots.release()
