"""The mixed-integer solver: counts of equivalent objects, branch and bound, one priority after the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from libs.assignment.arrays import Floats, Ints
from libs.assignment.lowering.impossible import clash_of
from libs.assignment.lowering.lower import lower
from libs.assignment.lowering.lowered import Lowered
from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import MipLimits, StoppedBy
from libs.assignment.solvers.result import Result, Step
from libs.mip import highs

Progress = Callable[[int, float, float, float], None]
"""level (0: what is broken), incumbent, bound, gap; inf where there is none yet."""

TOLERANCE = 1e-6
"""What counts as equal, as a share of a level's value: what solvers round to."""
SLACK = 1e-9
"""What a level may lose to those below it, besides: HiGHS's presolve goes wrong on rows that are wider by 1e-6."""


def solve_mip(
    problem: Problem,
    limits: MipLimits | None = None,
    *,
    start: Ints | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: highs.Cancelled | None = None,
) -> Result:
    """The best assignment, or the best found, with a bound on every level. Never worse than where the objects are.

    start  (N,) an assignment to begin from, where it is better than where the objects are
    NotLowerable where the problem has no such form.
    """
    limits = limits or MipLimits()
    began = time.perf_counter()
    lowered = lower(problem)
    build_s = time.perf_counter() - began
    tree = Tree(lowered, limits, began, seed, progress, cancelled)
    if start is not None:
        tree.offer(np.asarray(start, dtype=np.int64))
    stopped_by = tree.run()
    first, last = tree.first, tree.value
    return Result(
        assignment=tree.best,
        broken=(float(first[0]), float(last[0])),
        objective=(tuple(map(float, first[1:])), tuple(map(float, last[1:]))),
        improved=bool((tree.best != problem.initial).any()),
        moved=int((tree.best != problem.initial).sum()),
        tries=tree.nodes,
        seed=seed,
        stopped_by=stopped_by,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=tuple(tree.timeline),
        bound=tuple(tree.bound),
        impossible=_impossible(problem) if last[0] > TOLERANCE else "",
    )


def _impossible(problem: Problem) -> str:
    clash = clash_of(problem)
    return "" if clash is None else clash.in_words()


class Tree:
    """The levels in order, and the best assignment so far."""

    def __init__(
        self,
        lowered: Lowered,
        limits: MipLimits,
        began: float,
        seed: int,
        progress: Progress | None,
        cancelled: highs.Cancelled | None,
    ) -> None:
        self.lowered, self.limits, self.began, self.seed = lowered, limits, began, seed
        self.progress, self.cancelled = progress, cancelled
        self.best = lowered.problem.initial.copy()
        self.first = self.value = lowered.stated.values(self.best)
        self.bound: list[float] = []
        self.nodes = 0
        self.timeline: list[Step] = []
        self._note()

    def run(self) -> StoppedBy:
        """What is broken first, then each priority with those above it held."""
        most: list[float] = []
        ended = StoppedBy.OPTIMAL
        for level in range(len(self.lowered.levels)):
            found = self._level(level, most)
            if found is not None:
                ended = self._ended(found, ended)
            kept = self.lowered.values(self.lowered.point(self.best))[level]
            most.append(kept + SLACK * max(1.0, abs(kept)))
        return ended

    def offer(self, assignment: Ints) -> None:
        """Take an assignment for the best, if it is better at the first level at which they differ."""
        value = self.lowered.stated.values(assignment)
        for new, old in zip(value, self.value, strict=True):
            tolerance = TOLERANCE * max(1.0, abs(old))
            if new > old + tolerance:
                return
            if new < old - tolerance:
                self.best, self.value = assignment, value
                self._note()
                return

    def _level(self, level: int, most: list[float]) -> highs.Solution | None:
        lowered, limits = self.lowered, self.limits
        model = lowered.at(level, most)
        error = 0.0 if lowered.sound else lowered.levels[level].error
        least = lowered.levels[level].least(model) - error
        if self.value[level] <= least + TOLERANCE * max(1.0, abs(least)):
            self.bound.append(least)
            return None
        left = sum(one.cost.any() for one in lowered.levels[level:])
        share = max((limits.time_s_max - (time.perf_counter() - self.began)) / left, 0.0)
        solve = partial(
            highs.solve_mip,
            model,
            highs.Limits(time_s_max=share, nodes_max=limits.nodes_max, relative_gap=limits.relative_gap),
            start=lowered.point(self.best),
            seed=self.seed,
            progress=self._listener(level),
            cancelled=self.cancelled,
        )
        found = solve()
        if found.infeasible:  # the start is a point: presolve has lost it
            found = solve(presolve=False)
        self.nodes += found.nodes
        self.bound.append(max(found.bound - error, least))
        if found.x is not None:
            self.offer(self._assignment(found.x))
        return found

    def _assignment(self, x: Floats) -> Ints:
        counts = np.rint(x[: len(self.lowered.kind)]).astype(np.int64)
        return self.lowered.assignment(counts, x)

    def _ended(self, found: highs.Solution, so_far: StoppedBy) -> StoppedBy:
        if self.cancelled is not None and self.cancelled():
            return StoppedBy.CANCELLED
        if found.timed_out and so_far is not StoppedBy.CANCELLED:
            return StoppedBy.TIME
        return so_far if found.optimal or so_far is not StoppedBy.OPTIMAL else StoppedBy.WORK

    def _listener(self, level: int) -> highs.Progress | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda incumbent, bound, gap: progress(level, incumbent, bound, gap)

    def _note(self) -> None:
        time_s = time.perf_counter() - self.began
        self.timeline.append(Step(time_s=time_s, tries=self.nodes, made=len(self.timeline), objective=self.value))
