"""Search all priorities together, before each priority has a search of its own.

A level is the objective of one priority; level 0 is the sum of broken constraints. A search of the first priority alone
ignores the costs of the later priorities. A search of the second priority must keep the value of the first priority, so
it can hardly move an object. So one search of all priorities minimises a weighted sum,

    sum_k  weight[k] level[k],    weight[k] = LEAD weight[k + 1],

with the prices of the relaxation of the plain sum, in which the weights are those of the problem. Take an optimum of
the sum at which every level but the last has its least value. Then the last level is as good as the order of
priorities allows. So the later searches of single levels only have to improve the levels that the sum left worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from libs.assignment.graph.lexicographic import compare
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.bound_of_last import BoundOfLast
from libs.assignment.solvers.portfolio.joint_columns import is_scarce, with_columns
from libs.assignment.solvers.portfolio.phases import BESIDE_SHARE, Phases
from libs.assignment.solvers.portfolio.relaxation import Relaxation, quiet_columns
from libs.assignment.solvers.portfolio.relaxation_by_columns import is_by_columns
from libs.assignment.solvers.portfolio.relaxation_by_container import AVOIDABLE
from libs.assignment.solvers.portfolio.subproblem import Pool
from libs.assignment.solvers.portfolio.unavoidable import without_unavoidable
from libs.assignment.solvers.portfolio.watch import Watch
from libs.assignment.solvers.portfolio.whole_bound import Whole, capped
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.model import Model

LEAD, LEAD_MOST = 100.0, 1e4
"""Factors on the weights of the problem.

LEAD is the factor of a level against the next level. LEAD_MOST is the largest factor of the first level against the
last level. Smaller factors leave more work to the searches of single levels. Larger factors hide the last level below
the tolerances of solvers.
"""
NEGLIGIBLE = 0.01
"""Share of a level's value that is not worth a search.

If the last level became worse by a smaller share, steps on counts improve the last level without neighbourhoods. A
level gets no relaxation of its own if the relaxation of the sum brings the level nearer than this to its least value.
"""
UNAVOIDABLE_SHARE = 0.05
"""Share of the time left that it may take to find what no answer avoids of the first goal."""


class WholeLast(NamedTuple):
    """A lower bound of last + share above for whole objects, in answers whose first goal is at most `first`."""

    share: float
    bound: float
    first: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """The outcome of the search of all goals together.

    A count is the number of objects of one class in one container. The plain sum is the sum of all goals with the
    weights of the problem.

    goals       the levels with any cost, except level 0 of broken constraints
    counts      (Q,) the counts found. By the order of priorities they are no worse than the counts before the search
    bound       lower bound of the plain sum; -inf if the model may overstate a level
    relaxation  the relaxation of the plain sum
    by_columns  whether the plain sum was too large to relax as a whole
    phases      the phases that searched, with their numbers of neighbourhoods
    unit        (levels,) the weight of each level in the plain sum
    last        gives lower bounds of the last goal; None if the relaxation found no row prices
    whole       lower bound of the last goal for whole objects; None: not computed
    first       lower bound of the first goal for whole objects, each container alone; None: not computed
    """

    goals: list[int]
    counts: Ints
    bound: float
    relaxation: Relaxation
    by_columns: bool
    phases: Phases
    unit: tuple[float, ...]
    last: BoundOfLast | None
    whole: WholeLast | None = None
    first: Whole | None = None

    @property
    def bound_of_sum(self) -> float:
        """Return a lower bound of the plain sum in answers whose first goal is no worse than that of the best known."""
        if self.whole is None:
            return self.bound
        above = self.goals[:-1]
        least_above = sum(self.unit[k] * self._least(k) for k in above)
        return max(self.bound, self.whole.bound + (1.0 - self.whole.share) * least_above)

    def settles(self, level: int, counts: Ints) -> bool:
        """Return whether `level` needs no search of its own.

        That holds for the last goal if `counts` are still the counts that the search of all goals found.
        """
        return level == self.goals[-1] and np.array_equal(counts, self.counts)

    def nearly_settles(self, level: int, lowered: Lowered, counts: Ints) -> bool:
        """Return whether `level` is the last goal, and `counts` make it at most NEGLIGIBLE worse than the joint search.

        Then steps on counts are enough, and neighbourhoods are not needed.
        """
        if level != self.goals[-1]:
            return False
        was, now = (lowered.values(lowered.point_of(some))[level] for some in (self.counts, counts))
        return now <= was + NEGLIGIBLE * max(1.0, abs(was))

    def bound_of_last(self, values: tuple[float, ...]) -> float:
        """Return a lower bound of the last goal, valid for answers with other goals at most `values` (levels,)."""
        most, last = self._most(values), self.goals[-1]
        least = self.bound - most
        if self.last is not None:
            least = max(least, self.last.at(most))
        if self.whole is not None and values[self.goals[0]] <= self.whole.first:
            least = max(least, self.whole.bound - self.whole.share * most)
        return least / self.unit[last]

    def raised(self, first: Model, counts: Ints) -> Joint:
        """Return the outcome with bounds of whole objects; `counts` (Q,) are the best ones known.

        A bound of the first goal tells what each container may pay for it. Within that, the bound of the last goal is
        higher, and takes less time. Nothing changes if a relaxation by columns had too little time. Then the search
        gains more with the time left.

        first  the mixed-integer program of the first goal
        """
        if self.last is None or (self.by_columns and self.relaxation.timed_out):
            return self
        lowered, shares = self.phases.lowered, self.phases.shares
        values = lowered.values(lowered.point_of(counts))
        share = self.last.share(self._most(values))
        model, most = self.last.summed(share), values[self.goals[0]]
        most += lowered.compiled.tolerance(self.goals[0], most)
        if self.first is not None and shares.separates(model):
            model = capped(model, shares, first.cost, self.first.room(most))
        bound = self.phases.whole_bound(model, self.last.price, counts, BESIDE_SHARE).bound
        return replace(self, whole=WholeLast(share, bound, most))

    def with_first(self, model: Model, counts: Ints) -> Joint:
        """Return the outcome with a bound of the first goal for whole objects; `counts` (Q,) are the best ones known.

        Few containers pay what no object avoids, so trees at row prices of 0 take little time: each container may have
        all objects.

        model  the mixed-integer program of the first goal
        """
        lowered, k = self.phases.lowered, self.goals[0]
        value = lowered.values(lowered.point_of(counts))[k]
        least = lowered.levels[k].least(model)
        if value <= least + lowered.compiled.tolerance(k, value):
            return replace(self, first=Whole(least, np.zeros(len(lowered.problem.containers))))
        return replace(self, first=self.phases.whole_bound(model, np.zeros(len(model.row_lower)), counts, BESIDE_SHARE))

    def proves(self, counts: Ints, gap: float) -> bool:
        """Return whether `counts` (Q,) are optimal within a gap. The goals above may not pay more than the share
        AVOIDABLE of what may be avoided.
        """
        lowered = self.phases.lowered
        tolerance, values = lowered.compiled.tolerance, lowered.values(lowered.point_of(counts))
        *above, last = self.goals
        share = min(gap, AVOIDABLE)
        if any(values[k] > (least := self._least(k)) + share * least + tolerance(k, least) for k in above):
            return False
        least = self.bound_of_last(values)
        return values[last] <= least + gap * abs(values[last]) + tolerance(last, least)

    def _least(self, level: int) -> float:
        """Return the least value of a goal above the last that is known."""
        least = self.phases.lowered.levels[level].least(self.phases.lowered.model)
        return max(least, self.first.bound) if self.first is not None and level == self.goals[0] else least

    def _most(self, values: tuple[float, ...]) -> float:
        """Return the sum of the goals above the last in the plain sum, for the values (levels,)."""
        return sum(self.unit[k] * values[k] for k in self.goals[:-1])

    def relaxation_of(self, level: int, model: Model, most: Sequence[float], value: float) -> Relaxation | None:
        """Return a relaxation of `level` derived from the relaxation of the sum; None if `level` needs its own.

        The level needs no relaxation of its own if the relaxed sum brings the level near its least value. Then no
        relaxation can give a much better bound.

        model  the mixed-integer program of the level
        most   the values that the levels above must not exceed
        value  the present value of the level
        """
        point, lowered = self.relaxation.plan, self.phases.lowered
        if point is None:
            return None
        *above, relaxed = lowered.values(point)[: level + 1]
        tolerance, least = lowered.compiled.tolerance, lowered.levels[level].least(model)
        if any(now > limit + tolerance(k, limit) for k, (now, limit) in enumerate(zip(above, most, strict=True))):
            return None
        return self.relaxation.at_least(model, least) if relaxed <= least + NEGLIGIBLE * (value - least) else None


def search_together(
    lowered: Lowered,
    broken: float,
    counts: Ints,
    limits: PortfolioLimits,
    seed: int,
    watch: Watch,
    relaxed: Callable[[Joint], None],
    pool: Pool,
) -> Joint | None:
    """Search all goals at once from `counts` (Q,), and keep the total of broken constraints at most `broken`.

    Return None if every goal has its least value already. Return None also if the problem is so small that branch and
    bound solves each goal by itself.

    watch    tells when to stop, and receives the points found
    relaxed  called before the search, with a Joint of the relaxation and the mended counts, and with better bounds
    pool     solves parts of the relaxation and neighbourhoods
    """
    goals, unit, tolerance = goals_that_cost(lowered), lowered.compiled.unit, lowered.compiled.tolerance
    held, before = lowered.at(1, [broken]), np.array(lowered.values(lowered.point_of(counts)))
    least = [lowered.levels[k].least(held) for k in goals]
    if all(before[k] <= low + tolerance(k, low) for k, low in zip(goals, least, strict=True)):
        return None
    stated = np.array([unit[k] for k in goals])
    plain = _weighted(lowered, held, goals, stated)
    lead = min(LEAD, LEAD_MOST ** (1.0 / (len(goals) - 1)))
    led = stated * lead ** np.arange(len(goals))[::-1]
    phases = Phases(lowered, _weighted(lowered, held, goals, led), limits, seed, watch, pool, _quiet(lowered, goals))
    if phases.is_small:
        return None
    first = _weighted(lowered, held, goals[:1], np.ones(1))
    if limits.whole_bound:
        until = time.perf_counter() + UNAVOIDABLE_SHARE * watch.time_left()
        first = without_unavoidable(
            lowered, goals[0], first, phases.shares, counts, pool=pool, until=until, cancelled=watch.stop
        )
    held, plain = (replace(model, row_lower=first.row_lower) for model in (held, plain))
    slack = np.array([tolerance(k, value) for k, value in enumerate(before)])
    mended, relaxation = phases.mended_and_relaxed(
        plain, lambda: _no_worse(lowered, phases.mended(counts), counts, before, slack), cancelled=watch.stop
    )
    watch.note(timed_out=relaxation.timed_out)
    exact = lowered.sound or not any(level.error for level in lowered.levels)
    joint = Joint(
        goals=goals,
        counts=mended,
        bound=relaxation.bound if exact else -np.inf,
        relaxation=relaxation,
        by_columns=is_by_columns(lowered, plain, phases.shares),
        phases=phases,
        unit=unit,
        last=BoundOfLast(
            last=_weighted(lowered, held, goals[-1:], stated[-1:]),
            above=_weighted(lowered, held, goals[:-1], stated[:-1]),
            price=relaxation.rows,
        )
        if exact and relaxation.rows is not None
        else None,
    )
    relaxed(joint)
    if relaxation.plan is not None:  # gains are then relative to the plain sum, not to the larger weighted one
        phases.count_from(plain.objective(relaxation.plan), relaxation.plan)

    def proves(near: Ints, found: Callable[[], Ints], gap: float) -> bool:
        nonlocal joint
        joint = joint.with_first(first, near)
        relaxed(joint)
        joint = joint.raised(first, near)
        relaxed(joint)
        return is_scarce(joint, near) or joint.proves(found(), gap)

    found = phases.improve(relaxation, phases.start(relaxation, counts, mended), relaxation.bound, proves)
    found = phases.better(mended, found)
    if is_scarce(joint, found) and not watch.stop():
        joint, found = with_columns(joint, plain, found)
        relaxed(joint)
    return replace(joint, counts=_no_worse(lowered, found, counts, before, slack))


def _no_worse(lowered: Lowered, found: Ints, known: Ints, before: Floats, slack: Floats) -> Ints:
    """Return the counts `found` (Q,) unless they are worse than `before` (levels,). Else return the counts `known`.

    The order of priorities decides, with the tolerances `slack` (levels,).
    """
    after = np.array(lowered.values(lowered.point_of(found)))
    return known if compare(after, before, slack) > 0 else found


def _quiet(lowered: Lowered, goals: list[int]) -> Bools:
    """Return the quiet columns (C,) of all goals: their costs only break ties, at every level in which they cost.

    The search ignores the costs of quiet columns. A column with a larger cost at any level is not quiet, so the search
    ignores no level.
    """
    costs = [lowered.levels[k].cost for k in goals]
    quiet = [quiet_columns(cost) for cost in costs]
    loud = [(cost != 0) & ~one for cost, one in zip(costs, quiet, strict=True)]
    return np.asarray(np.any(quiet, axis=0) & ~np.any(loud, axis=0))


def goals_that_cost(lowered: Lowered) -> list[int]:
    """Return the numbers of the levels in which some column has a cost, except level 0 of broken constraints."""
    return [k for k, level in enumerate(lowered.levels) if k and level.cost.any()]


def _weighted(lowered: Lowered, held: Model, goals: list[int], weights: Floats) -> Model:
    """Return the model `held` with the sum of the levels `goals` as its objective, each with its weight."""
    of_levels = np.zeros(len(lowered.levels))
    of_levels[goals] = weights
    summed = lowered.weighted(of_levels.tolist())
    return replace(held, cost=summed.cost, offset=summed.offset)
