"""What a solve gives back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.prices import Prices

SHOWN = 1e-6
"""Gaps are told from this share of the value on."""
DUST = 1e-9
"""What sums of floats leave of nothing broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A point of the timeline: seconds since the start, changes tried and made, and the objective by level of the
    assignment that the solver had then: of those that search, the best so far.
    """

    time_s: float
    tries: int
    made: int
    objective: tuple[float, ...]
    moved: tuple[Ints, Ints] | None = None
    """Objects that the best assignment has elsewhere than a step before (at first: than the start), and where."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """An assignment, and how it came about.

    assignment   (N,)            the container of each object
    broken       before, after   what is broken, weighted, over all constraints: 0 where all hold
    objective    before, after   the goals by priority, each level the weighted sum of its goals
    improved     whether the answer is better than the start
    bound        by level as in `broken` and `objective`: no assignment as good above it goes below; empty where the
                 solver proves nothing
    prices       what more room would gain, by shape of container and dimension; where the solver finds them
    solver       by the name of which it is registered
    notes        what else is to be said of how it was solved, each a clause
    """

    assignment: Ints
    broken: tuple[float, float]
    objective: tuple[tuple[float, ...], tuple[float, ...]]
    improved: bool
    moved: int
    tries: int
    seed: int
    stopped_by: StoppedBy
    build_s: float
    solve_s: float
    timeline: tuple[Step, ...]
    bound: tuple[float, ...] = ()
    prices: Prices | None = None
    solver: str = "local"
    notes: tuple[str, ...] = ()

    def as_stated(self, unit: Sequence[float]) -> Outcome:
        """With levels in the weights that were stated, where they are now in units (levels,) of so much each."""
        if all(one == 1.0 for one in unit):
            return self

        def times(values: Sequence[float], first: int = 0) -> tuple[float, ...]:
            return tuple(value * by for value, by in zip(values, unit[first:], strict=False))

        return replace(
            self,
            broken=(self.broken[0] * unit[0], self.broken[1] * unit[0]),
            objective=(times(self.objective[0], 1), times(self.objective[1], 1)),
            bound=times(self.bound),
            timeline=tuple(replace(step, objective=times(step.objective)) for step in self.timeline),
        )

    def in_words(self) -> str:
        """What people want to know first."""
        moves = "1 object moves" if self.moved == 1 else f"{self.moved} objects move"
        what = moves if self.improved else "no better assignment was found; nothing moves"
        broken = (
            f"; constraints are broken by {self.broken[1]:g} (at the start {self.broken[0]:g})"
            if self.broken[1] > DUST
            else ""
        )
        ends = {
            StoppedBy.WORK: "stopped after all its tries: more tries may find more",
            StoppedBy.TIME: "stopped by the clock: more time may find more",
            StoppedBy.DONE: "this solver looks no further",
            StoppedBy.LOCAL: "no move and no swap improves it, and searching again found nothing better",
            StoppedBy.OPTIMAL: "nothing is left to gain",
            StoppedBy.CANCELLED: "stopped when asked to: more time may find more",
        }
        said = (f"{what}{broken}", ends[self.stopped_by], *self._gaps(), *self.notes)
        return "; ".join(said)

    def _gaps(self) -> list[str]:
        """How far each level may be from the best, where that is known and not nothing."""
        values = (self.broken[1], *self.objective[1])
        names = ("what is broken", *(f"priority {k}" for k in range(len(self.objective[1]))))
        return [
            f"{name} is {value:g}, and at least {bound:g} whatever is done"
            for name, value, bound in zip(names, values, self.bound, strict=False)
            if math.isfinite(bound) and value - bound > SHOWN * max(1.0, abs(value))
        ]
