"""Decide again if the data of a decision changed before the decision was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

ATTEMPTS_MAX = 10
"""Stale attempts in a row after which the loop waits for its next turn."""


def retry_stale(
    attempt: Callable[[], T], *, stale: Callable[[Exception], bool], note: Callable[[int, Exception], None]
) -> T:
    """Run `attempt` and return its result. Run it again while it raises an error that means "read again".

    attempt   loads, plans, checks and commits; it must be safe to repeat
    stale     returns whether an error means that the attempt rests on stale reads
    note      hears the number of each stale attempt, from 1, and its error
    Raises the error of the attempt if it is not stale, or after ATTEMPTS_MAX stale attempts in a row.
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
