"""Compare assignments by priorities: a lower priority counts only if all higher ones are equal."""

from __future__ import annotations

from libs.assignment.language.arrays import Floats


def compare(one: Floats, other: Floats, tolerance: Floats) -> int:
    """Return -1 if `one` is better at the first level that differs, 1 if it is worse, 0 if all are equal.

    one, other  (levels,) values of two assignments, the highest priority first
    tolerance   (levels,) differences that do not count
    """
    for a, b, slack in zip(one, other, tolerance, strict=True):
        if a < b - slack:
            return -1
        if a > b + slack:
            return 1
    return 0
