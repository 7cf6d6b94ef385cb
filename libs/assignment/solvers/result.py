"""Define the outcome of a solve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from libs.assignment.language.arrays import Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.prices import Prices

SHOWN = 1e-6
"""Smallest relative gap to report."""
DUST = 1e-9
"""Rounding residue in sums of floats that counts as unbroken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A point of the timeline of a solve.

    It has the seconds since the start, the changes tried and made, and the objective by level of the solver's
    assignment at that time. For solvers that search it is the best assignment so far.
    """

    time_s: float
    tries: int
    made: int
    objective: tuple[float, ...]
    moved: tuple[Ints, Ints] | None = None
    """Objects whose container differs from the previous step's best assignment (at first: from the start), and their
    new one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """The size of a problem as a mixed-integer program.

    counts  columns that count the objects of a class in a container
    """

    counts: int
    columns: int
    rows: int
    nonzeros: int

    @classmethod
    def of(cls, lowered: Lowered) -> ModelSize:
        """Return the size of a lowered problem."""
        rows, columns = lowered.model.matrix.shape
        return cls(counts=len(lowered.kind), columns=columns, rows=rows, nonzeros=int(lowered.model.matrix.nnz))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """An assignment, and how it was found.

    assignment   (N,)            the container of each object
    broken       before, after   weighted excess of all constraints: 0 if all hold
    objective    before, after   the goals by priority, each level the weighted sum of its goals
    improved     whether the answer is better than the start
    bound        by level as in `broken` and `objective`: a lower bound for assignments equally good at all levels
                 above; empty if the solver proves nothing
    sum_bound    a lower bound of the sum of all goals in the stated weights, for assignments as good as this one by
                 the order of priorities; -inf if the solver finds none beside the sum of `bound`
    size         of the mixed-integer program; None if the solver builds none
    prices       gain of more room, by shape of container and dimension; from solvers that find them
    solver       its registered name
    notes        further remarks on the solve, each a clause
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
    sum_bound: float = -math.inf
    size: ModelSize | None = None
    prices: Prices | None = None
    solver: str = "local"
    notes: tuple[str, ...] = ()

    def as_stated(self, unit: Sequence[float]) -> Outcome:
        """Return the outcome in the stated weights, from levels in units (levels,)."""
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
        """Return the main results as one line of text."""
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
        """Return the gap of each level to its bound, if it is known and not negligible."""
        values = (self.broken[1], *self.objective[1])
        names = ("what is broken", *(f"priority {k}" for k in range(len(self.objective[1]))))
        return [
            f"{name} is {value:g}, and at least {bound:g} whatever is done"
            for name, value, bound in zip(names, values, self.bound, strict=False)
            if math.isfinite(bound) and value - bound > SHOWN * max(1.0, abs(value))
        ]
