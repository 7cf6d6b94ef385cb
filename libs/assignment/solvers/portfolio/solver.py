"""Solve by a portfolio of methods, and return a lower bound with the answer.

The methods are a relaxation, rounding by a network flow, repair, steps on counts, and exact neighbourhoods. A count is
the number of objects of one class in one container. A level is the objective of one priority; level 0 is the sum of
broken constraints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from libs.assignment.graph.compiled import Compiled
from libs.assignment.graph.legal_start import begun_at
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import TimeUp
from libs.assignment.language.problem import Problem
from libs.assignment.model.lower import lower_compiled
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.caller import Caller, Cancelled, Listener
from libs.assignment.solvers.claim import claimed
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.portfolio.joint import Joint, goals_that_cost, search_together
from libs.assignment.solvers.portfolio.moments import Moments
from libs.assignment.solvers.portfolio.phases import BESIDE_SHARE, Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.thread_pool import ThreadPool
from libs.assignment.solvers.result import ModelSize, Outcome
from libs.assignment.solvers.settings import PortfolioLimits, SearchLimits
from libs.assignment.solvers.unbuilt import unbuilt
from libs.mip.model import Model

ALIKE = 4
"""Average number of objects in a class from which a search over counts is better than over single objects."""
KEPT_BACK = 0.05
"""Share of the time reserved for overruns of solvers, and for the work after them."""
TWINS = 2
"""Average objects of a class below which the result carries a warning."""
TOGETHER_SHARE = 0.9
"""Share of the time for the search of all priorities together, if there are several priorities."""
MEDIUM, MEDIUM_LEADING = 1_000, 5_000
"""Most counts of a problem that branch and bound solves as a whole too, once a search has ended without a proof.

The second is for a goal that comes before another one. Presolve alone often proves it.
"""
SETTLING = 200_000
"""Nodes of that branch and bound times counts of the problem. More nodes take long, and seldom find anything."""


def solve_portfolio(
    problem: Problem,
    limits: PortfolioLimits | SearchLimits | None = None,
    *,
    start: Ints | None = None,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
    pool: Pool | None = None,
) -> Outcome:
    """Return an assignment that is no worse than the start by the order of priorities, and a bound on each level.

    With enough time the same problem and seed give the same answer on any machine. Raises NotLowerable if the problem
    has no form as a mixed-integer program.

    start     (N,) an assignment to begin from, if it is better than the initial assignment (legal_start.begun_at)
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max
    pool      solves parts of a relaxation and neighbourhoods; None: threads of this process
    """
    # tries are not neighbourhoods: of limits for a search only the time counts
    if not isinstance(limits, PortfolioLimits):
        limits = PortfolioLimits() if limits is None else PortfolioLimits(time_s_max=limits.time_s_max)
    deadline = deadline or Deadline.after(limits.time_s_max)
    limits, began = replace(limits, time_s_max=deadline.time_s_max), deadline.began
    compiled = compiled or Compiled.of(problem)
    try:
        lowered = lower_compiled(compiled, until=began + limits.time_s_max)
    except TimeUp:
        return unbuilt(compiled, deadline, solver="portfolio", seed=seed, start=start)
    build_s = time.perf_counter() - began
    with ThreadPool() if pool is None else nullcontext(pool) as solving:
        run = _Run(lowered, limits, began, seed, Caller(began, compiled.unit, progress, cancelled), solving)
        if start is not None:
            run.begin_at(lowered.counts(begun_at(lowered.compiled, start)))
        run.solve_all()
    placing = time.perf_counter()
    best = begun_at(lowered.compiled, lowered.assignment(run.counts))  # rows hold only up to a solver's tolerance
    timeline = run.moments.steps(time.perf_counter() - placing)
    first, last = lowered.compiled.values(problem.initial), lowered.compiled.values(best)
    bound, stopped_by = claimed(lowered.compiled, last, run.bound, run.stopped_by, limits.exact_gap)
    return Outcome(
        assignment=best,
        broken=(first[0], last[0]),
        objective=(first[1:], last[1:]),
        improved=bool((best != problem.initial).any()),
        moved=int((best != problem.initial).sum()),
        tries=run.tried,
        seed=seed,
        stopped_by=stopped_by,
        build_s=build_s,
        solve_s=time.perf_counter() - began,
        timeline=timeline,
        bound=bound,
        sum_bound=run.sum_bound(last),
        size=ModelSize.of(lowered),
        solver="portfolio",
        notes=run.notes(),
    ).as_stated(lowered.compiled.unit)


class _Run:
    """One solve: it minimises the levels one after the other, watches the clock, and has the best counts so far."""

    def __init__(
        self,
        lowered: Lowered,
        limits: PortfolioLimits,
        began: float,
        seed: int,
        caller: Caller,
        pool: Pool,
    ) -> None:
        self.pool = pool
        self.lowered, self.limits, self.began, self.seed = lowered, limits, began, seed
        self.caller = caller
        self.counts: Ints = lowered.held
        self.stopped_by = StoppedBy.OPTIMAL
        self.tried = self.improved = 0
        self.bound: list[float] = []
        self.moments = Moments(lowered, began)
        self._level, self._ends = 0, began + (1.0 - KEPT_BACK) * limits.time_s_max
        self._until, self._least = self._ends, -math.inf
        self._joint: Joint | None = None
        self._most: list[float] = []
        self._remember(lowered.point_of(self.counts))
        self._not_followed: tuple[str, ...] = ()

    def begin_at(self, counts: Ints) -> None:
        """Begin the search at `counts` (Q,), which are no worse than the start of the problem."""
        self.counts = counts
        self._remember(self.lowered.point_of(counts))

    def solve_all(self) -> None:
        """Minimise broken constraints, then search all goals together, and then each goal by itself.

        In the search of one goal, the goals of higher priority keep their values.
        """
        self._tell_from(0, self.lowered.values(self.lowered.point_of(self.counts)))
        self.solve(0)
        self._until = self._ends  # the time of level 0 may be over, and that of the goals is not
        if len(goals_that_cost(self.lowered)) > 1 and not self.stop():
            self._until = time.perf_counter() + TOGETHER_SHARE * (self._ends - time.perf_counter())
            self._joint = search_together(
                self.lowered, self._most[0], self.counts, self.limits, self.seed, self, self._hear, self.pool
            )
        if self._joint is not None:
            self.counts, phases = self._joint.counts, self._joint.phases
            self._count(phases)
            self._remember(self.lowered.point_of(self.counts))
        for level in range(1, len(self.lowered.levels)):
            self.solve(level)

    def solve(self, level: int) -> None:
        """Minimise the level `level` while the levels above it keep their values."""
        lowered, joint, self._level = self.lowered, self._joint, level
        model = lowered.at(level, self._most)
        value = model.objective(lowered.point_of(self.counts))
        none = self._least = lowered.levels[level].least(model)
        levels = sum(one.cost.any() for one in lowered.levels[level:])
        now = time.perf_counter()
        self._until = now + (self._ends - now) / max(levels, 1)  # the level's own, or the search before would end it
        if joint is not None and level == joint.goals[-1]:
            self._least = max(self._least, joint.bound_of_last(lowered.values(lowered.point_of(self.counts))))
        if joint is not None and level == joint.goals[0] and joint.first is not None:
            self._least = max(self._least, joint.first.bound)
        elif joint is not None and level != joint.goals[-1] and self._is_open(level, value):
            self._raise_bound(joint, level, model, value)
        if self._is_open(level, value):
            self._search(level, model)
            value = model.objective(lowered.point_of(self.counts))
            if self._is_open(level, value):
                self._settle(level, model)
                value = model.objective(lowered.point_of(self.counts))
            if value > self._near(level, value) and self.stopped_by is StoppedBy.OPTIMAL:
                self.stopped_by = StoppedBy.WORK  # who of a class leaves was proven together with the counts
        if any(above.error for above in lowered.levels[:level]):
            # held by the pieces of a curve: what is as good as the answer by the curve itself may be left out
            self._least = lowered.levels[level].least(lowered.model)
        self.bound.append(self._least - (0.0 if lowered.sound else lowered.levels[level].error))
        room = lowered.compiled.tolerance(level, value)
        self._most.append(value if value <= none + room else value + room)  # at its least value bounds hold it

    def sum_bound(self, values: Sequence[float]) -> float:
        """Return a lower bound of the sum of all goals in the stated weights, unless the answer's `values` (levels,)
        refute it.
        """
        joint = self._joint
        if joint is None:
            return -math.inf
        found = sum(joint.unit[k] * values[k] for k in joint.goals)
        tolerance = sum(joint.unit[k] * self.lowered.compiled.tolerance(k, values[k]) for k in joint.goals)
        return joint.bound_of_sum if joint.bound_of_sum <= found + tolerance else -math.inf

    def _is_open(self, level: int, value: float) -> bool:
        """Return whether the level is worth a search: its value is not proven, and there is time."""
        return value > self._near(level, value) and not self.stop()

    def _leads(self, level: int) -> bool:
        """Return whether another level with costs comes after `level`."""
        return any(one.cost.any() for one in self.lowered.levels[level + 1 :])

    def _near(self, level: int, value: float, gap: float | None = None) -> float:
        """Return the largest value of the level that its bound proves within a gap, by default the exact gap."""
        gap = self.limits.exact_gap if gap is None else gap
        return self._least + gap * abs(value) + self.lowered.compiled.tolerance(level, value)

    def _search(self, level: int, model: Model) -> None:
        """Search `level`, and relax it first if no known relaxation bounds it.

        Do nothing if the search of all goals together has settled the level already.
        """
        lowered, joint = self.lowered, self._joint
        if joint is not None and joint.settles(level, self.counts):
            return
        few = joint is not None and joint.nearly_settles(level, lowered, self.counts)
        limits = replace(self.limits, neighbourhoods_max=0) if few else self.limits
        phases = Phases(lowered, model, limits, self.seed, self, self.pool, leads=self._leads(level))
        relaxation = None
        if joint is not None and level == joint.goals[-1]:
            # a row that holds the levels above would couple the containers
            relaxation = joint.relaxation if few or joint.by_columns else None
        elif joint is not None:
            value = model.objective(lowered.point_of(self.counts))
            relaxation = joint.relaxation_of(level, model, self._most, value)
        begin = self.counts
        if relaxation is None:
            if joint is None:
                begin, relaxation = phases.mended_and_relaxed(
                    model, lambda: phases.mended(self.counts), cancelled=self.caller.cancels
                )
            else:
                relaxation = phases.relax(model, begin, cancelled=self.caller.cancels)
            self.note(timed_out=relaxation.timed_out)
            self._least = max(self._least, relaxation.bound)
        rounded = phases.start(relaxation, self.counts, begin) if joint is None else begin
        proves = partial(self._proves, phases, model, relaxation) if joint is None else None
        self.counts = phases.better(begin, phases.improve(relaxation, rounded, self._least, proves))
        self._count(phases)
        self._least = max(self._least, phases.tree_bound)
        self._remember(lowered.point_of(self.counts))

    def _settle(self, level: int, model: Model) -> None:
        """Let branch and bound go on from the answer of a search that has not proven it, if the problem is medium.

        A caller that limits the number of neighbourhoods wants no more work than these.
        """
        limits, counts = self.limits, len(self.lowered.container)
        is_asked = limits.exact_columns_max > 0 and limits.neighbourhoods_max is None
        if not is_asked or counts > (MEDIUM_LEADING if self._leads(level) else MEDIUM):
            return
        limits = replace(limits, exact_nodes_max=min(limits.exact_nodes_max, SETTLING // counts))
        phases = Phases(self.lowered, model, limits, self.seed, self, self.pool)
        if phases.is_small:  # the search was branch and bound
            return
        self.counts = phases.settled(self.counts)
        self._count(phases)
        self._least = max(self._least, phases.tree_bound)
        self._remember(self.lowered.point_of(self.counts))

    def _raise_bound(self, joint: Joint, level: int, model: Model, value: float) -> None:
        """Raise the bound of `level` by whole objects, if the relaxation of the sum has the level at its least value.

        Then the prices of all rows are 0: each container alone may have all objects.
        """
        if joint.relaxation_of(level, model, self._most, value) is None:
            return
        price = np.zeros(len(model.row_lower))
        self._least = max(self._least, joint.phases.whole_bound(model, price, self.counts).bound)
        self.caller.tell(level, value, self._least)

    def _proves(
        self, phases: Phases, model: Model, relaxation: Relaxation, near: Ints, found: Callable[[], Ints], gap: float
    ) -> bool:
        """Raise the bound of the level by whole objects, and return whether it proves the counts `found` (Q,) optimal.

        near  (Q,) counts that cost little more, which are known before
        """
        if relaxation.rows is not None:
            self._least = max(self._least, phases.whole_bound(model, relaxation.rows, near, BESIDE_SHARE).bound)
        value = model.objective(self.lowered.point_of(found()))
        return value <= self._near(self._level, value, gap)

    def _count(self, phases: Phases) -> None:
        self.tried, self.improved = self.tried + phases.tried, self.improved + phases.improved
        self._not_followed = self._not_followed or phases.not_followed

    def notes(self) -> tuple[str, ...]:
        """Return the reasons why the answer may not be the best."""
        found, size = [], self.lowered.classes.size
        if self._not_followed:
            found.append(f"without steps on counts, which cannot follow {', '.join(self._not_followed)}")
        if self.stopped_by is not StoppedBy.OPTIMAL and 1 < len(size) > size.sum() / TWINS:
            found.append(
                f"{size.sum()} objects are of {len(size)} classes: where so few are alike, counting them rounds badly; "
                "local search is likely to find better"
            )
        return tuple(found)

    def _remember(self, point: Floats) -> tuple[float, ...]:
        """Record the point `point` (C,) for the timeline, and return its values by level."""
        return self.moments.add(point, tries=self.tried, made=self.improved)

    def stop(self) -> bool:
        """Return whether the caller or the clock ends the search."""
        asked = self.caller.cancelled()
        if asked or self.time_left() <= 0:
            self.note(timed_out=True)
        return asked or self.time_left() <= 0

    def time_left(self) -> float:
        """Return the seconds left for the present level."""
        return self._until - time.perf_counter()

    def note(self, *, timed_out: bool) -> None:
        """Record that the clock or the caller stopped a solver."""
        if timed_out and self.stopped_by in (StoppedBy.OPTIMAL, StoppedBy.WORK):
            self.stopped_by = StoppedBy.CANCELLED if self.caller.cancelled() else StoppedBy.TIME

    def found(self, point: Floats, bound: float) -> None:
        """Record `point` (C,), and tell the caller the values of the present level and of all after it.

        While all goals are searched together, tell the value of every level.
        """
        values = self._remember(point)
        if self._level:
            self.caller.tell(self._level, values[self._level], max(bound, self._least))
            self._tell_from(self._level + 1, values)
        else:
            self._tell_from(0, values)

    def _hear(self, joint: Joint) -> None:
        self._joint = joint

    def _tell_from(self, first: int, values: tuple[float, ...]) -> None:
        """Tell the caller the values of the level `first` and of all after it, with their known lower bounds."""
        lowered, joint = self.lowered, self._joint
        for level, value in enumerate(values[first:], first):
            least = lowered.levels[level].least(lowered.model)
            if joint is not None and level == joint.goals[-1]:
                least = max(least, joint.bound_of_last(values))
            self.caller.tell(level, value, least - (0.0 if lowered.sound else lowered.levels[level].error))
