"""Search all priorities together, before each has a search of its own.

A search of the first priority alone ignores its cost for the others. A search of the second that must hold the first
can hardly move. So one search minimises a weighted sum,

    sum_k  weight[k] level[k],    weight[k] = LEAD weight[k + 1],

with the prices of the relaxation of the plain sum. Take an optimum of the sum that has every level but the last at
its least. Its last level is as good as the order of priorities allows. So the searches of single levels mend only the
rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.graph.lexicographic import compare
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.bound_of_last import BoundOfLast
from libs.assignment.solvers.portfolio.phases import Phases, Watch
from libs.assignment.solvers.portfolio.relaxation import Relaxation, quiet_columns
from libs.assignment.solvers.portfolio.relaxation_in_parts import in_parts
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.model import Model

LEAD, LEAD_MOST = 100.0, 1e4
"""Factors on the stated weights: of a level against the next, and of the first against the last at most.

Smaller factors leave more to the searches of single levels. Larger ones hide the last level below the tolerances of
solvers.
"""
NEGLIGIBLE = 0.01
"""Share of a value that is not worth a search.

If the last level lost less, steps alone mend it. If the relaxation of the sum has a level nearer to its least, the
level gets no relaxation of its own.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joint:
    """The outcome of the search of all goals together.

    goals       levels with any cost, without that of broken constraints
    counts      (Q,) no worse than before, in the order of the levels
    bound       of the plain sum of the goals in the stated weights; -inf if the model may overstate
    relaxation  of that sum
    in_parts    whether the sum was too large to relax as a whole
    last        bounds of the last goal; None without row prices
    """

    goals: list[int]
    counts: Ints
    bound: float
    relaxation: Relaxation
    in_parts: bool
    phases: Phases
    unit: tuple[float, ...]
    last: BoundOfLast | None

    def settles(self, level: int, counts: Ints) -> bool:
        """Return whether a level needs no search of its own: it is the last, and the counts are those found here."""
        return level == self.goals[-1] and np.array_equal(counts, self.counts)

    def nearly_settles(self, level: int, lowered: Lowered, counts: Ints) -> bool:
        """Return whether mending the levels above cost the last one so little that steps alone are enough."""
        if level != self.goals[-1]:
            return False
        was, now = (lowered.values(lowered.point_of(some))[level] for some in (self.counts, counts))
        return now <= was + NEGLIGIBLE * max(1.0, abs(was))

    def bound_of_last(self, values: tuple[float, ...]) -> float:
        """Return a lower bound of the last goal while the goals above it are at most `values` (levels,)."""
        *above, last = self.goals
        most = sum(self.unit[k] * values[k] for k in above)
        return (self.bound - most if self.last is None else self.last.at(most)) / self.unit[last]

    def relaxation_of(self, level: int, model: Model, most: Sequence[float], value: float) -> Relaxation | None:
        """Return a relaxation of a level that follows from that of the sum; None if the level needs its own.

        A level needs none if the relaxed sum already has it near its least: no bound can then be much better.

        model, most, value   of the level: its program, the values of the levels above, and its own value
        """
        point, lowered = self.relaxation.point, self.phases.lowered
        if point is None:
            return None
        *above, relaxed = lowered.values(point)[: level + 1]
        tolerance, least = lowered.compiled.tolerance, lowered.levels[level].least(model)
        if any(now > limit + tolerance(k, limit) for k, (now, limit) in enumerate(zip(above, most, strict=True))):
            return None
        return self.relaxation.at_least(model.cost, least) if relaxed <= least + NEGLIGIBLE * (value - least) else None


def search_together(
    lowered: Lowered,
    broken: float,
    counts: Ints,
    limits: PortfolioLimits,
    seed: int,
    watch: Watch,
    relaxed: Callable[[Joint], None],
) -> Joint | None:
    """Search all goals at once from counts (Q,), with broken constraints at most `broken`.

    Return None if the goals are at their least, or if the problem is small enough for branch and bound on each.

    relaxed   receives the relaxation before the search
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
    phases = Phases(lowered, _weighted(lowered, held, goals, led), limits, seed, watch, _quiet(lowered, goals))
    if phases.is_small:
        return None
    relaxation = phases.relax(plain, cancelled=watch.stop)
    watch.note(timed_out=relaxation.timed_out)
    exact = lowered.sound or not any(level.error for level in lowered.levels)
    joint = Joint(
        goals=goals,
        counts=counts,
        bound=relaxation.bound if exact else -np.inf,
        relaxation=relaxation,
        in_parts=in_parts(lowered, plain, phases.shares) > 1,
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
    if relaxation.point is not None:  # gains are then relative to the plain sum, not to the larger weighted one
        phases.count_from(plain.objective(relaxation.point), relaxation.point)
    found = phases.improve(relaxation, phases.start(relaxation, counts), relaxation.bound)
    after = np.array(lowered.values(lowered.point_of(found)))
    slack = np.array([tolerance(k, value) for k, value in enumerate(before)])
    return joint if compare(after, before, slack) > 0 else replace(joint, counts=found)


def _quiet(lowered: Lowered, goals: list[int]) -> Bools:
    """Return the columns (C,) that only break ties at every level at which they cost anything, so no level is lost."""
    costs = [lowered.levels[k].cost for k in goals]
    quiet = [quiet_columns(cost) for cost in costs]
    loud = [(cost != 0) & ~one for cost, one in zip(costs, quiet, strict=True)]
    return np.asarray(np.any(quiet, axis=0) & ~np.any(loud, axis=0))


def goals_that_cost(lowered: Lowered) -> list[int]:
    """Return the levels with any cost, without that of broken constraints."""
    return [k for k, level in enumerate(lowered.levels) if k and level.cost.any()]


def _weighted(lowered: Lowered, held: Model, goals: list[int], weights: Floats) -> Model:
    pairs = [(by, lowered.levels[k]) for by, k in zip(weights, goals, strict=True)]
    cost = np.sum([by * level.cost for by, level in pairs], axis=0)
    return replace(held, cost=cost, offset=float(sum(by * level.offset for by, level in pairs)))
