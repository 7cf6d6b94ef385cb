"""Choose the objective of a solve: one priority after the other, or the sum of all."""

from __future__ import annotations

import copy
from dataclasses import replace
from enum import StrEnum

from libs.assignment.language.errors import UnknownName
from libs.assignment.language.problem import Problem


class Objective(StrEnum):
    """The way in which goals of several priorities count. Broken constraints come first in both."""

    PRIORITIES = "priorities"
    """Minimise the priorities one after the other, without loss at higher priorities."""
    SUM = "sum"
    """All goals added up in one level."""


def objective_of(given: Objective | str) -> Objective:
    """Return the objective of a word.

    Raises: UnknownName with the nearest word.
    """
    known = {one.value: one for one in Objective}
    if given not in known:
        raise UnknownName("solve", "objective", str(given), known)
    return known[str(given)]


def summed(problem: Problem) -> Problem:
    """Return the problem with all goals at priority 0. The given problem stays as it is."""
    found = copy.copy(problem)
    found.goals = [replace(goal, priority=0) for goal in problem.goals]
    return found
