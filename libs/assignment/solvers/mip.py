"""Solve by branch and bound over counts of equivalent objects, one priority after the other.

A level is the objective of one priority; level 0 is the sum of broken constraints. A model is sound if the model value
of an assignment is never above its true value, at every level.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat

import numpy as np

from libs.assignment.graph.compiled import TOLERANCE, Compiled
from libs.assignment.graph.legal_start import begun_at, made_legal
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import TimeUp
from libs.assignment.language.problem import Problem
from libs.assignment.model.infeasibility import clash_of
from libs.assignment.model.lower import lower_compiled
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.caller import Caller, Cancelled, Listener
from libs.assignment.solvers.claim import claimed, is_proven
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.result import ModelSize, Outcome
from libs.assignment.solvers.settings import MipLimits, SearchLimits
from libs.assignment.solvers.timeline_record import Record
from libs.assignment.solvers.unbuilt import unbuilt
from libs.mip import highs
from libs.mip.model import Model
from libs.mip.sure import solve_surely

REFINEMENTS, COARSE, FINER = 6, 0.03, 0.5
"""Repeated solves of a level with curves. In each solve, the curves are exact near the latest answers.

REFINEMENTS is the number of solves, COARSE the first relative gap, and FINER the factor from gap to gap. As many solves
to the requested gap may follow.
"""

KEPT_BACK = 0.05
"""Share of the time reserved for overruns of solvers, and for the work after them."""
LARGE, RELAXING = 10_000, 0.25
"""A model with more than LARGE columns has its relaxation solved first, in at most RELAXING of the time of the level.

Branch and bound in HiGHS begins with the simplex method, which may find no bound at all on large models.
"""


def solve_mip(
    problem: Problem,
    limits: MipLimits | SearchLimits | None = None,
    *,
    start: Ints | None = None,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
) -> Outcome:
    """Return the best assignment found, with a lower bound on every level.

    The assignment is never worse than the initial assignment. It is optimal if `stopped_by` of the outcome says so.

    start     (N,) an assignment to begin from, if it is better than the initial assignment (legal_start.begun_at)
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max

    Raises: NotLowerable if the problem has no form as a mixed-integer program.
    """
    if not isinstance(limits, MipLimits):  # tries are not nodes: of limits for a search only the time counts
        limits = MipLimits() if limits is None else MipLimits(time_s_max=limits.time_s_max)
    deadline = deadline or Deadline.after(limits.time_s_max)
    limits, began = replace(limits, time_s_max=deadline.time_s_max), deadline.began
    compiled = compiled or Compiled.of(problem)
    try:
        lowered = lower_compiled(compiled, until=began + limits.time_s_max)
    except TimeUp:
        return unbuilt(compiled, deadline, solver="mip", seed=seed, start=start)
    build_s = time.perf_counter() - began
    caller = Caller(began, compiled.unit, progress, cancelled)
    tree = Tree(lowered, limits, began, seed, caller, build_s)
    if start is not None:
        tree.offer(begun_at(lowered.compiled, start))
    stopped_by = tree.run()
    first, last = tree.first, tree.value
    bound, stopped_by = claimed(lowered.compiled, last, tree.bound, stopped_by, limits.relative_gap)
    impossible = _impossible(problem, began + limits.time_s_max, build_s) if last[0] > TOLERANCE else ()
    return Outcome(
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
        timeline=tuple(tree.record.steps),
        bound=bound,
        size=ModelSize.of(tree.lowered),
        solver="mip",
        notes=(*tree.notes, *impossible),
    ).as_stated(lowered.compiled.unit)


def _impossible(problem: Problem, until: float, build_s: float) -> tuple[str, ...]:
    """Return a note that names hard constraints that cannot all hold, for any initial assignment.

    Return a note of lacking time if there is no time to prove that, and () if nothing was proven.
    """
    left_s = until - time.perf_counter() - build_s  # the model is built again with those constraints alone
    if left_s <= 0:
        return ("no time was left to find out whether the constraints can all hold",)
    clash = clash_of(problem, left_s)
    return () if clash is None else (clash.in_words(),)


class Tree:
    """One solve by branch and bound: it minimises the levels in order, and has the best assignment so far.

    best, value  the best assignment (N,) so far, and its true value at each level
    first        the true value of the initial assignment at each level
    bound        the lower bound of each level that was begun
    seen, true   the answers of all solves, and the true value of the latest answer at each level
    nodes        number of nodes of all branch-and-bound trees
    """

    def __init__(
        self,
        lowered: Lowered,
        limits: MipLimits,
        began: float,
        seed: int,
        caller: Caller,
        build_s: float = 0.0,
    ) -> None:
        self._build_s = build_s
        self.lowered, self.limits, self.began, self.seed = lowered, limits, began, seed
        self.caller = caller
        self.best = lowered.problem.initial.copy()
        self.first = self.value = lowered.compiled.values(self.best)
        self.bound: list[float] = []
        self.seen: list[Ints] = [self.best]
        self.true = self.value
        self.notes: tuple[str, ...] = ()
        self.nodes = 0
        self.record = Record(self.best, began)
        self._note()

    def run(self) -> StoppedBy:
        """Minimise broken constraints, and then each priority while the levels above keep their values.

        Return why the solve ended.
        """
        ended = StoppedBy.OPTIMAL
        if self._left_s() <= 0:
            self.notes = ("building the model took all the time",)
        for level in range(len(self.lowered.levels)):
            self.bound.append(-math.inf)
            for gap in self._gaps(level):
                if self.caller.cancelled():
                    ended = StoppedBy.CANCELLED
                    break
                if self._left_s() <= 0:
                    ended = StoppedBy.TIME
                    break
                most = [self._held(above) for above in range(level)]
                found = self._level(level, most, gap)
                if found is None:
                    break
                ended = self._ended(found, ended)
                if found.timed_out:
                    break
                if self._flattered(level, gap):
                    if self._left_s() < self._build_s:
                        ended = StoppedBy.TIME
                        break
                    self.lowered = lower_compiled(self.lowered.compiled, near=self.seen)
                elif gap == self.limits.relative_gap:
                    break
        return ended

    def _left_s(self) -> float:
        """Return the seconds left for HiGHS. A reserve is left out, because HiGHS checks its clock only rarely."""
        return (1.0 - KEPT_BACK) * self.limits.time_s_max - (time.perf_counter() - self.began)

    def _gaps(self, level: int) -> Iterator[float]:
        """Yield the relative gap of each solve of `level`.

        If the level has curves, the first gaps are coarse, to learn which parts of the curves matter.
        """
        gap = self.limits.relative_gap
        if self.lowered.levels[level].error:
            yield from (max(gap, COARSE * FINER**k) for k in range(REFINEMENTS))
            yield from repeat(gap, REFINEMENTS)
        yield gap

    def _held(self, level: int) -> float:
        """Return the most that `level` may become while the levels after it are minimised."""
        kept = self.lowered.values(self.lowered.point(self.best))[level]
        return kept + self.lowered.rounding(level, kept)

    def _flattered(self, level: int, gap: float) -> bool:
        """Return whether the model states the latest answer better at `level` than it truly is, by more than `gap`.

        Then the model lacks tangents of curves near the answer.
        """
        said, true = self.lowered.values(self.lowered.point(self.seen[-1]))[level], self.true[level]
        return true - said > max(gap, TOLERANCE) * abs(true)

    def offer(self, assignment: Ints) -> None:
        """Keep `assignment` (N,) as the best if it is better at the first level at which it differs from the best."""
        value = self.lowered.compiled.values(assignment)
        for level, (new, old) in enumerate(zip(value, self.value, strict=True)):
            tolerance = self.lowered.compiled.tolerance(level, old)
            if new > old + tolerance:
                return
            if new < old - tolerance:
                self.best, self.value = assignment, value
                self._note()
                return

    def _level(self, level: int, most: list[float], gap: float) -> highs.Solution | None:
        lowered = self.lowered
        model = lowered.at(level, most)
        error = 0.0 if lowered.sound else lowered.levels[level].error
        least = lowered.levels[level].least(model) - error
        if self.value[level] <= least + lowered.compiled.tolerance(level, least):
            self.bound[-1] = max(self.bound[-1], least)
            return None
        found = self._solved(model, level, gap, error)
        self._take(found, error, least)
        exact = not lowered.levels[level].error and len(model.cost) <= LARGE
        proven = is_proven(lowered.compiled, level, self.value[level], self.bound[-1], gap)
        if found.optimal and exact and not proven and self._left_s() > 0:
            found = self._solved(model, level, gap, error, tolerance=highs.FINE)
            self._take(found, error, least)
        return found

    def _take(self, found: highs.Solution, error: float, least: float) -> None:
        """Take the lower bound of the solution `found`, and offer its assignment as the best.

        Rows hold only up to a tolerance. So objects that worsen a hard constraint go home first.

        error  most by which the model may overstate the level
        least  a lower bound of the level that is known without the solution
        """
        compiled = self.lowered.compiled
        self.bound[-1] = max(self.bound[-1], found.bound - error, least)
        if found.x is not None:
            self.seen.append(made_legal(compiled, self._assignment(found.x)))
            self.true = compiled.values(self.seen[-1])
            self.offer(self.seen[-1])

    def _solved(
        self, model: Model, level: int, gap: float, error: float, tolerance: float | None = None
    ) -> highs.Solution:
        """Solve `model` by branch and bound from the best assignment so far."""
        began = time.perf_counter()
        left = max(sum(one.cost.any() for one in self.lowered.levels[level:]), 1)
        share = max(self._left_s() / left, 0.0)
        if len(model.cost) > LARGE:
            patience = highs.Limits(time_s_max=share * RELAXING)
            relaxed = highs.solve_lp(model, "ipm", patience, cancelled=self.caller.cancels)
            self.bound[-1] = max(self.bound[-1], relaxed.bound - error)
        found = solve_surely(
            model,
            highs.Limits(
                time_s_max=max(share - (time.perf_counter() - began), 0.0),
                nodes_max=self.limits.nodes_max,
                relative_gap=gap,
                absolute_gap=self.lowered.compiled.tolerance(level, self.value[level]),
            ),
            start=self.lowered.point(self.best),
            seed=self.seed,
            tolerance=tolerance,
            progress=self._listener(level),
            cancelled=self.caller.cancels,
        )
        self.nodes += found.nodes
        return found

    def _assignment(self, x: Floats) -> Ints:
        counts = np.rint(x[: len(self.lowered.kind)]).astype(np.int64)
        return self.lowered.assignment(counts, x)

    def _ended(self, found: highs.Solution, so_far: StoppedBy) -> StoppedBy:
        if self.caller.cancelled():
            return StoppedBy.CANCELLED
        if found.timed_out and so_far is not StoppedBy.CANCELLED:
            return StoppedBy.TIME
        return so_far if found.optimal or so_far is not StoppedBy.OPTIMAL else StoppedBy.WORK

    def _listener(self, level: int) -> highs.Progress | None:
        if not self.caller.listens:
            return None

        def tell(incumbent: float, bound: float, gap: float) -> None:
            known = min(incumbent, self.value[level])  # of the whole level: HiGHS may not have its start yet
            self.caller.tell(level, known, max(bound, self.bound[level]))

        return tell

    def _note(self) -> None:
        self.record.add(self.best, self.value, tries=self.nodes, made=len(self.record.steps))
