"""Bound the solves of whole regions that run at once in a process that also answers other requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from libs.web.problems import Problem

AT_ONCE_MAX = 2
"""Largest number of solves at a time. More solves would keep the process from answering other requests."""
_lock = Lock()
_held: set[int] = set()
"""Ids of the tokens that hold a slot now."""


@contextmanager
def solving_slot(token_id: int) -> Iterator[None]:
    """Take one of the AT_ONCE_MAX slots for the block. A token has at most one slot, so a client in a loop leaves room
    for other clients.

    Raises Problem (429) if no slot is free: the client tries again instead of waiting here.
    """
    with _lock:
        if token_id in _held:
            raise _busy("A dry run or explanation of this token is running")
        if len(_held) == AT_ONCE_MAX:
            raise _busy(f"{AT_ONCE_MAX} dry runs or explanations are running")
        _held.add(token_id)
    try:
        yield
    finally:
        with _lock:
            _held.remove(token_id)


def _busy(what: str) -> Problem:
    return Problem(429, "rate_limited", f"{what}. Try again in a few seconds.", headers={"Retry-After": "2"})
