"""Decide again when the world has moved on since the decision was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

ATTEMPTS_MAX = 10
"""Attempts in a row that may be overtaken. The loop then waits for its next turn."""


def retry_stale(
    attempt: Callable[[], T], *, stale: Callable[[Exception], bool], note: Callable[[int, Exception], None]
) -> T:
    """Run an attempt, and again while it raises an error that means "read again". Return its result.

    attempt   loads, plans, checks and commits; it must be safe to repeat
    stale     whether an error means that the attempt decided by what is no longer true
    note      told the number of each such attempt, from 1, and its error
    Raises the error of the attempt where it is not stale, or where ATTEMPTS_MAX attempts in a row were.
    """
    number = 1
    while True:
        try:
            return attempt()
        except Exception as error:
            if not stale(error):
                raise
            note(number, error)
            if number == ATTEMPTS_MAX:
                raise
        number += 1
