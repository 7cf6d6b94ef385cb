"""The portfolio: relaxation, network rounding, restoring, steps on counts, exact neighbourhoods; the best so far, with
a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from libs.assignment.arrays import Floats, Ints
from libs.assignment.lowering.lower import lower
from libs.assignment.lowering.lowered import Lowered
from libs.assignment.portfolio.limits import PortfolioLimits
from libs.assignment.portfolio.phases import Phases
from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import SearchLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step

Progress = Callable[[int, float, float], None]
"""level (0: what is broken), the best value so far, and a bound on it."""
TOLERANCE = 1e-6
"""What a level may lose to those below it, as a share of its value: what solvers round to."""


def solve_portfolio(
    problem: Problem,
    limits: PortfolioLimits | SearchLimits | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Result:
    """An assignment no worse than the start at every priority, and a bound on each.

    With enough time the same problem and seed give the same answer on any machine. NotLowerable where the problem has
    no form as a mixed-integer program.
    """
    if not isinstance(limits, PortfolioLimits):  # tries are no neighbourhoods: of a search's limits the time is kept
        limits = PortfolioLimits() if limits is None else PortfolioLimits(time_s_max=limits.time_s_max)
    began = time.perf_counter()
    lowered = lower(problem)
    build_s = time.perf_counter() - began
    run = _Run(lowered, limits, began, seed, progress, cancelled)
    for level in range(len(lowered.levels)):
        run.solve(level)
    best = lowered.assignment(run.counts)
    first, last = lowered.stated.values(problem.initial), lowered.stated.values(best)
    return Result(
        assignment=best,
        broken=(first[0], last[0]),
        objective=(first[1:], last[1:]),
        improved=bool((best != problem.initial).any()),
        moved=int((best != problem.initial).sum()),
        tries=run.tried,
        seed=seed,
        stopped_by=run.stopped_by,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=tuple(run.timeline),
        bound=tuple(run.bound),
        solver="portfolio",
    )


class _Run:
    """The levels one after the other: who watches them, and the best counts so far."""

    def __init__(
        self,
        lowered: Lowered,
        limits: PortfolioLimits,
        began: float,
        seed: int,
        progress: Progress | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.lowered, self.limits, self.began, self.seed = lowered, limits, began, seed
        self.progress, self.cancelled = progress, cancelled
        self.counts: Ints = lowered.held
        self.stopped_by = StoppedBy.OPTIMAL
        self.tried = self.improved = 0
        self.bound: list[float] = []
        self.timeline: list[Step] = []
        self._level, self._until = 0, began + limits.time_s_max
        self._most: list[float] = []

    def solve(self, level: int) -> None:
        """Make one level small while those above it stay what they have become."""
        lowered, self._level = self.lowered, level
        model = lowered.at(level, self._most)
        value = model.objective(lowered.point_of(self.counts))
        none = least = lowered.levels[level].least(model)
        if value > least + TOLERANCE * max(1.0, abs(least)) and not self.stop():
            levels = sum(one.cost.any() for one in lowered.levels[level:])
            self._until = time.perf_counter() + (self.began + self.limits.time_s_max - time.perf_counter()) / levels
            phases = Phases(lowered, model, self.limits, self.seed, self)
            relaxation = phases.relax(model, cancelled=self.cancelled)
            self.note(timed_out=relaxation.timed_out)
            least = max(least, relaxation.bound)
            self.counts = phases.start(relaxation, self.counts)
            self.counts = phases.improve(relaxation, self.counts, least)
            self.tried, self.improved = self.tried + phases.tried, self.improved + phases.improved
            least = max(least, phases.tree_bound)
            if not phases.proven and self.stopped_by is StoppedBy.OPTIMAL:
                self.stopped_by = StoppedBy.WORK
            value = model.objective(lowered.point_of(self.counts))
        self.bound.append(least - (0.0 if lowered.sound else lowered.levels[level].error))
        room = TOLERANCE * max(1.0, abs(value))
        self._most.append(value if value <= none + room else value + room)  # at its least it is held by bounds

    def stop(self) -> bool:
        """Whether the caller or the clock ends it."""
        asked = self.cancelled is not None and self.cancelled()
        if asked or self.time_left() <= 0:
            self.note(timed_out=True)
        return asked or self.time_left() <= 0

    def time_left(self) -> float:
        """Seconds, of the level."""
        return self._until - time.perf_counter()

    def note(self, *, timed_out: bool) -> None:
        """A solver was stopped by the clock or the caller."""
        if timed_out and self.stopped_by in (StoppedBy.OPTIMAL, StoppedBy.WORK):
            asked = self.cancelled is not None and self.cancelled()
            self.stopped_by = StoppedBy.CANCELLED if asked else StoppedBy.TIME

    def found(self, point: Floats, bound: float) -> None:
        """Write it down, and tell."""
        values = self.lowered.values(point)
        time_s = time.perf_counter() - self.began
        self.timeline.append(Step(time_s=time_s, tries=self.tried, made=self.improved, objective=values))
        if self.progress is not None:
            self.progress(self._level, values[self._level], bound)
