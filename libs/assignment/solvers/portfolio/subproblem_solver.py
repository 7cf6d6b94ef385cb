"""Solve one subproblem of a portfolio: a relaxation, a search for whole counts, or a bound of their cost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.solvers.portfolio.submodel import loosened
from libs.assignment.solvers.portfolio.subproblem import Answer, CountSearch, Subproblem
from libs.mip.highs import Limits, solve_lp, solve_mip
from libs.mip.model import Model
from libs.mip.rounding_cuts import with_rounding_cuts

WHOLE = 1e-6
"""Tolerance of solvers for whole numbers."""
SMALL = 300
"""Most columns of a tree without presolve. Presolve would take most of the time of a smaller one, and loosen its bound
a little. A larger one takes up to a hundred times as long without it.
"""
FEW_NODES = 50
"""Most nodes of a larger tree without strong branching, which takes most of the time of such a tree, and raises its
bound a little. A tree of more nodes is to prove something, and seldom ends without it.
"""

POINTS = 0.05
"""Share of the effort of a tree for points, if a point is wanted beside a bound."""


def solve_subproblem(one: Subproblem, cancelled: Callable[[], bool] | None = None) -> Answer:
    """Return the answer to `one`. It depends on nothing else, unless the time is up or `cancelled` returns True.

    Then nothing is begun: many may wait, and each would take a moment to load.
    """
    if time.perf_counter() >= one.until or (cancelled is not None and cancelled()):
        return Answer(x=None, timed_out=True)
    if one.search is not None:
        if one.bounds:
            return _bounded(one.model, one.search, one.until, cancelled, points=one.points)
        return _searched(one.model, one.search, one.until, cancelled)
    return _relaxed(one, cancelled)


def _relaxed(one: Subproblem, cancelled: Callable[[], bool] | None) -> Answer:
    """Solve a relaxation by the simplex method, which takes half the time of an interior point where few rows couple.

    Presolve would take as long as the rest.
    """
    limits = Limits(time_s_max=one.until - time.perf_counter())
    found = solve_lp(one.model, "simplex", limits, start=one.basis, presolve=False, cancelled=cancelled)
    return Answer(
        x=found.x,
        price=found.price,
        basis=found.basis if found.optimal else None,
        optimal=found.optimal,
        timed_out=found.timed_out,
    )


def _searched(model: Model, search: CountSearch, until: float, cancelled: Callable[[], bool] | None) -> Answer:
    """Find better values for the columns of a neighbourhood.

    Branch and bound finds whole counts. Then a second solve finds the exact values of all other columns for these
    counts. Nearly all that is gained comes from the tree and the programs near its relaxation. Other programs of a part
    of the columns, strong branching and symmetry took half to two thirds of the time.
    """
    start, counts = search.start, search.counts
    found = solve_mip(
        loosened(model, search.loose),
        _limits_of(search, until),
        start=start,
        seed=search.seed,
        restarts=False,
        heuristics=0.2,
        parts=("rens",),
        symmetry=False,
        strong_branching=False,
        cancelled=cancelled,
    )
    nothing = Answer(x=None, timed_out=found.timed_out)
    if found.x is None:
        return nothing
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[:counts] = upper[:counts] = np.rint(found.x[:counts])
    if (lower[:counts] == start[:counts]).all():
        return nothing
    left_s = until - time.perf_counter()
    if left_s <= 0:
        return Answer(x=None, timed_out=True)
    x = _implied(replace(model, lower=lower, upper=upper), left_s)
    if x is None:
        return Answer(x=None, timed_out=found.timed_out or time.perf_counter() >= until)
    gained = float((model.cost * (start - x)).sum())
    return Answer(x=x, gained=gained, timed_out=found.timed_out) if gained > 0 else nothing


def _bounded(
    model: Model, search: CountSearch, until: float, cancelled: Callable[[], bool] | None, *, points: bool
) -> Answer:
    """Return a lower bound of the cost of whole counts, from a tree that ends where it meets the known point.

    The trees are small, so that a search for symmetry would take most of the time, and so would one for points.

    points  whether to return a point, too, if the tree finds one that costs less than the known one
    """
    small = len(model.cost) <= SMALL
    found = solve_mip(
        loosened(with_rounding_cuts(model), search.loose),
        _limits_of(search, until),
        start=search.start,
        seed=search.seed,
        restarts=False,
        heuristics=POINTS if points else 0.0,
        parts=("root_reduced_cost",),
        presolve=not small,
        symmetry=False,
        strong_branching=small or search.nodes_max > FEW_NODES,
        cancelled=cancelled,
    )
    bound = -math.inf if found.infeasible else found.bound
    x = None if found.x is None or not points else found.x[: len(model.cost)]
    gained = 0.0 if x is None else float((model.cost * (search.start - x)).sum())
    return Answer(x=x if gained > 0 else None, gained=max(gained, 0.0), bound=bound, timed_out=found.timed_out)


def _limits_of(search: CountSearch, until: float) -> Limits:
    return Limits(
        nodes_max=search.nodes_max,
        absolute_gap=search.absolute_gap,
        relative_gap=0.0,
        time_s_max=until - time.perf_counter(),
    )


def _implied(model: Model, time_s_max: float) -> Floats | None:
    """Return the cheapest point of `model`, in which the bounds of columns fix all counts.

    Branch and bound may leave the other columns larger than needed within its gap. This point has no such slack.
    Return None if the solve takes longer than `time_s_max`.
    """
    found = solve_lp(model, "simplex", Limits(time_s_max=time_s_max))
    x = found.x if found.optimal else None
    if x is not None and (np.abs(x - np.rint(x))[model.integer] > WHOLE).any():
        x = solve_mip(model, Limits(relative_gap=0.0, time_s_max=time_s_max)).x
    return None if x is None else np.where(model.integer, np.rint(x), x)
