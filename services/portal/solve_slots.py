"""How much that loads a whole region and solves may run at once in one process that also answers others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from libs.web.problems import Problem

AT_ONCE_MAX = 2
"""More at a time would keep the process from answering anything else."""
_lock = Lock()
_held: set[int] = set()
"""Tokens that hold a slot."""


@contextmanager
def solving_slot(token_id: int) -> Iterator[None]:
    """One of the slots, and never two for one token: a client in a loop leaves room for the others.

    Raises Problem (429) where none is free: whoever asks tries again, instead of waiting here.
    """
    with _lock:
        if token_id in _held:
            raise _busy("A dry run or explanation of this token is under way")
        if len(_held) == AT_ONCE_MAX:
            raise _busy(f"{AT_ONCE_MAX} dry runs or explanations are under way")
        _held.add(token_id)
    try:
        yield
    finally:
        with _lock:
            _held.remove(token_id)


def _busy(what: str) -> Problem:
    return Problem(429, "rate_limited", f"{what}. Try again in a few seconds.", headers={"Retry-After": "2"})
