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
    """The value of each term in a (before) and in b (after), and the number of objects that differ."""

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
    """Compare a start and an answer, or the answers of two solvers: (N,) containers by index.

    Raises: BadValues if one does not give a container for each object.
    """
    objects, containers = len(problem.objects), len(problem.containers)
    a, b = (checked_indices(name, one, objects, containers) for name, one in (("a", a), ("b", b)))
    terms = Terms(Compiled.of(problem))
    differ = int((np.asarray(a) != np.asarray(b)).sum())
    return Comparison(differ=differ, changes=changes(terms.all, terms.values(a), terms.values(b), terms.reached))
