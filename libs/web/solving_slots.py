"""Bound the answers that need a whole region and run at once, in a process that also answers other requests: dry runs,
explanations and estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from libs.web.problems import Problem

AT_ONCE_MAX = 2
"""Largest number at a time. More would keep the process from answering other requests."""
_lock = Lock()
_held: set[int | str] = set()
"""Clients that hold a slot now, by Principal.holder."""


@contextmanager
def solving_slot(holder: int | str) -> Iterator[None]:
    """Take one of the AT_ONCE_MAX slots for the block. A client has at most one slot, so one in a loop leaves room
    for others.

    Raises Problem (429) if no slot is free: the client tries again instead of waiting here.
    """
    with _lock:
        if holder in _held:
            raise _busy("A dry run or explanation of yours is running")
        if len(_held) == AT_ONCE_MAX:
            raise _busy(f"{AT_ONCE_MAX} dry runs or explanations are running")
        _held.add(holder)
    try:
        yield
    finally:
        with _lock:
            _held.remove(holder)


def _busy(what: str) -> Problem:
    return Problem(429, "rate_limited", f"{what}. Try again in a few seconds.", headers={"Retry-After": "2"})
