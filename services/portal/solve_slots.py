"""Bound the solves of whole regions that run at once in a process that also answers other requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from libs.web.problems import Problem

AT_ONCE_MAX = 2
"""Solves at a time. More would keep the process from answering other requests."""
_lock = Lock()
_held: set[int] = set()
"""Tokens that hold a slot."""


@contextmanager
def solving_slot(token_id: int) -> Iterator[None]:
    """Take one of the slots. A token has at most one, so a client in a loop leaves room for others.

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
