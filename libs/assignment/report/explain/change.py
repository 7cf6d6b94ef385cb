"""Compare two assignments term by term. A term is one constraint or goal; its level is 0 or its priority in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from libs.assignment.graph.compiled import Term
from libs.assignment.graph.reach import PART, Reach
from libs.assignment.language.arrays import Floats

SAME, SUMS = 1e-9, 1e-13
"""Relative errors: SAME of a value that is updated by increments, and SUMS of one sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermChange:
    """The value of one term in two assignments, before and after. The value of a constraint is its total excess.

    reach  how much objects can change the value
    """

    term: Term
    before: float
    after: float
    reach: Reach

    @property
    def change(self) -> float:
        """Return the change of the value."""
        return self.after - self.before

    @property
    def counts(self) -> float:
        """Return the change of the objective by this term: the change of its value, times its weight."""
        return self.change * self.term.weight

    @property
    def changed(self) -> bool:
        """Return whether the change exceeds rounding errors."""
        return abs(self.change) > self.slack

    @property
    def slack(self) -> float:
        """Return the largest change that counts as rounding. It is smaller than the effect of one object."""
        size = max(min(1.0, self.reach.total), abs(self.before))
        return max(min(SAME * size, PART * self.reach.least), SUMS * abs(self.before))

    def in_words(self) -> str:
        """Return one line of text."""
        moved = f"{self.before:g} -> {self.after:g}" if self.changed else f"{self.before:g}, as before"
        return f"{self.term.name} ({self.term.kind}): {moved}"


def changes(terms: Sequence[Term], before: Floats, after: Floats, reached: Sequence[Reach]) -> tuple[TermChange, ...]:
    """Return the change of each term.

    before, after  (T,) the value of each term in the two assignments
    reached        (T,) how much objects can change the value of each term
    """
    return tuple(
        TermChange(term=term, before=float(was), after=float(now), reach=reach)
        for term, was, now, reach in zip(terms, before, after, reached, strict=True)
    )


def by_level(of: Sequence[TermChange]) -> list[float]:
    """Return the change of each level of the objective, (levels,): the sum of the changes of its terms."""
    levels = [0.0] * (1 + max((one.term.level for one in of), default=0))
    for one in of:
        levels[one.term.level] += one.counts
    return levels


def verdict(of: Sequence[TermChange]) -> int:
    """Return -1 for better, 1 for worse, 0 for no difference, by the first level that differs.

    Only changed terms count, because the error of an unchanged term must not hide the gain of another.
    """
    changed = [one for one in of if one.changed]
    sizes = [0.0] * (1 + max((one.term.level for one in changed), default=0))
    for one in changed:
        sizes[one.term.level] += one.slack * abs(one.term.weight)
    for change, size in zip(by_level(changed), sizes, strict=True):
        if abs(change) > size:
            return 1 if change > 0 else -1
    return 0


def dearest(of: Sequence[TermChange]) -> TermChange:
    """Return the term that becomes worse most, of a change that makes the objective worse.

    It is a term of the first level that becomes worse.
    """
    levels = by_level(of)
    level = next((k for k, change in enumerate(levels) if change > 0), 0)
    return max((one for one in of if one.term.level == level), key=lambda one: one.counts)
