"""What a solve gives back."""

from __future__ import annotations

from dataclasses import dataclass

from libs.assignment.arrays import Ints
from libs.assignment.solvers.limits import StoppedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A point of the timeline: seconds since the start, changes tried and made, and the best objective by level so
    far.
    """

    time_s: float
    tries: int
    made: int
    objective: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """An assignment, and how it came about.

    assignment   (N,)            the container of each object
    broken       before, after   what is broken, weighted, over all constraints: 0 where all hold
    objective    before, after   the goals by priority, each level the weighted sum of its goals
    improved     whether the answer is better than the start
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
    solver: str = "local"
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """What people want to know first."""
        what = f"{self.moved} objects move" if self.improved else "no better assignment was found; nothing moves"
        broken = (
            f"; constraints are broken by {self.broken[1]:g} (at the start {self.broken[0]:g})"
            if self.broken[1]
            else ""
        )
        ends = {
            StoppedBy.WORK: "stopped after all its tries: more tries may find more",
            StoppedBy.TIME: "stopped by the clock: more time may find more",
            StoppedBy.OPTIMAL: "nothing is left to gain",
        }
        return "; ".join((f"{what}{broken}", ends[self.stopped_by], *self.notes))
