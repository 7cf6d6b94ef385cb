"""Compare assignments by priorities: a lower priority counts only where all higher ones are alike."""

from __future__ import annotations

from libs.assignment.language.arrays import Floats


def compare(one: Floats, other: Floats, tolerance: Floats) -> int:
    """Return -1 where `one` is better at the first level that differs, 1 where it is worse, 0 where all are alike.

    one, other  (levels,) values of two assignments, the highest priority first
    tolerance   (levels,) differences that do not count
    """
    for a, b, slack in zip(one, other, tolerance, strict=True):
        if a < b - slack:
            return -1
        if a > b + slack:
            return 1
    return 0
