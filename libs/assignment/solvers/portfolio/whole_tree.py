"""Solve a whole problem by branch and bound, from known counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.watch import Watch
from libs.assignment.solvers.settings import PortfolioLimits
from libs.mip.highs import FINE, Limits
from libs.mip.model import Model
from libs.mip.rounding_cuts import with_rounding_cuts
from libs.mip.sure import solve_surely

SMALL = 300
"""Most counts of a tree with restarts and strong branching. They save nodes, and take most of the time of a larger one.
"""


class WholeTree(NamedTuple):
    """The result of branch and bound on a whole problem.

    counts   (Q,) the best counts; those given, the same array, if no better ones were found
    bound    lower bound of the cost; -inf: none
    optimal  whether the counts are optimal within the exact gap of the limits
    trees    how many trees were searched
    """

    counts: Ints
    bound: float
    optimal: bool
    trees: int


def search_tree(
    lowered: Lowered,
    model: Model,
    counts: Ints,
    limits: PortfolioLimits,
    seed: int,
    watch: Watch,
    *,
    better: Callable[[Ints, Ints], Ints],
) -> WholeTree:
    """Search the whole problem `model` from `counts` (Q,). Search again with the tolerance FINE, if the cost of the
    answer is still above the bound of the tree.

    watch   tells when to stop, and receives the points found
    better  of whole counts that a solver found, and known ones, returns the better ones that break no row
    """
    within = Limits(nodes_max=limits.exact_nodes_max, relative_gap=limits.exact_gap, absolute_gap=1e-6)
    cut, known = with_rounding_cuts(model), lowered.point_of(counts)
    best = known
    small, bound, optimal, trees = len(counts) <= SMALL, -np.inf, False, 0

    def improved(found: Floats) -> None:
        nonlocal best
        # without a cost in this model, columns of later levels are slack in what HiGHS found
        point = lowered.point_of(np.rint(found[: len(counts)]).astype(np.int64))
        if model.objective(point) < model.objective(best):
            best = point

    for tolerance in (None, FINE):
        found = solve_surely(
            cut,
            replace(within, time_s_max=watch.time_left()),
            start=known,
            seed=seed,
            restarts=small,
            strong_branching=small,
            tolerance=tolerance,
            progress=lambda incumbent, least, _: watch.found(best, least),
            improved=improved,
            cancelled=watch.stop,
        )
        watch.note(timed_out=found.timed_out)
        trees, optimal, bound = trees + 1, found.optimal, max(bound, found.bound)
        if found.x is None:
            break
        counts = better(np.rint(found.x[: len(counts)]).astype(np.int64), counts)
        cost = model.objective(lowered.point_of(counts))
        if not optimal or cost <= bound + limits.exact_gap * max(1.0, abs(cost)):
            break
    return WholeTree(counts=counts, bound=bound, optimal=optimal, trees=trees)
