"""Compare two assignments term by term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Ints, checked_indices
from libs.assignment.language.problem import Problem
from libs.assignment.report.explain.change import TermChange, changes, verdict
from libs.assignment.report.explain.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The comparison of two assignments, a and b.

    differ   number of objects whose container differs
    changes  the value of each constraint and goal in a (before) and in b (after)
    """

    differ: int
    changes: tuple[TermChange, ...]

    @property
    def verdict(self) -> int:
        """Return -1 if b is better, 1 if a is better, 0 if neither is."""
        return verdict(self.changes)

    def in_words(self) -> str:
        """Return the comparison as lines of text."""
        said = {-1: "the second is better", 1: "the first is better", 0: "neither is better"}[self.verdict]
        return "\n  ".join([f"{self.differ} objects differ; {said}", *(one.in_words() for one in self.changes)])


def compare(problem: Problem, a: Ints, b: Ints) -> Comparison:
    """Compare two assignments, such as a start and an answer, or the answers of two solvers.

    a, b  (N,) the index of the container of each object

    Raises: BadValues if `a` or `b` does not give a container for each object.
    """
    objects, containers = len(problem.objects), len(problem.containers)
    a, b = (checked_indices(name, one, objects, containers) for name, one in (("a", a), ("b", b)))
    terms = Terms(Compiled.of(problem))
    differ = int((np.asarray(a) != np.asarray(b)).sum())
    return Comparison(differ=differ, changes=changes(terms.all, terms.values(a), terms.values(b), terms.reached))
