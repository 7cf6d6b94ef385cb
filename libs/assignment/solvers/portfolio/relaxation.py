"""Solve the relaxation of a model: a fractional plan, a price for one object of each class, and a lower bound.

A class is a set of equivalent objects. A count is the number of objects of one class in one container. The relaxation
allows fractions of objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.unpaid import missed, without
from libs.mip.bound import bound_from_prices, reduced_costs
from libs.mip.highs import Limits, Method, Solution, solve_lp
from libs.mip.model import Model

QUIET = 1e-4
"""Share of the median cost of all columns of a level. A column that costs less only breaks ties."""
LEAN_ITERATIONS_MAX = 200
"""Most iterations of an interior point without some penalties. It takes some 40, but without them no point may exist.
"""

SPARSE = 10
"""Number of classes for each container from which simplex is faster. Few containers then want each class. So a change
of basis touches few rows, and the factor of an interior point fills up.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxation:
    """The result of a relaxation of a model with K classes, Q counts, C columns and N rows.

    fractional  (Q,) or None   the counts in fractions of objects; None if the solve ended before it had a plan, or
                               went container by container
    price       (K,)           cost of one more object of a class: below 0 if one more object would be useful
    reduced     (Q,)           reduced cost of a count: the least cost of one more object in the count, less the price
                               of the object
    point       (C,) or None   the values of all columns at the fractional plan
    bound       float          lower bound for all assignments. It follows from the row prices alone, so it does not
                               depend on the precision of a solver
    timed_out   bool           whether the clock or the caller ended the solve
    rows        (N,) or None   the row prices of the bound; None without a bound
    raw         (C,) or None   the values of all columns as a solver found them, in which steps may be fractions and
                               containers may want more than there is, and which pays for cuts. None if it is
                               `point`, or there is no plan
    is_near     bool           whether the counts that it is for move few objects, and cost little above the bound
    """

    fractional: Floats | None
    price: Floats
    reduced: Floats
    point: Floats | None
    bound: float
    timed_out: bool
    rows: Floats | None = None
    raw: Floats | None = None
    is_near: bool = False

    @classmethod
    def unknown(cls, lowered: Lowered) -> Relaxation:
        """Return a relaxation of which nothing is known: no plan, no bound, and prices of 0."""
        classes, counts = len(lowered.classes.size), len(lowered.kind)
        return cls(
            fractional=None,
            price=np.zeros(classes),
            reduced=np.zeros(counts),
            point=None,
            bound=-np.inf,
            timed_out=False,
        )

    @property
    def plan(self) -> Floats | None:
        """Return the values of all columns in a plan, (C,), in which containers may want too much; None without any."""
        return self.raw if self.point is None else self.point

    def at_least(self, model: Model, least: float) -> Relaxation:
        """Return the relaxation of `model`, which has its least value `least` at this point.

        Prices of 0 prove that bound, so no solver is needed.
        """
        counts, classes = len(self.reduced), len(self.price)
        price, rows = np.zeros(classes), np.zeros(len(model.row_lower))
        return replace(self, price=price, reduced=model.cost[:counts], bound=least, rows=rows)


def relax(
    lowered: Lowered,
    model: Model,
    time_s_max: float = np.inf,
    *,
    left_out: Bools | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Relaxation:
    """Solve the relaxation of `model` by an interior point method without crossover, or by simplex if it is SPARSE.

    Prices and a central point of many containers take a tenth of the time of a basis.

    model      a result of `lowered.at` or `lowered.weighted`, or another model with the same columns and rows
    left_out   (C,) or None  penalties to leave out at first, because a plan is expected not to pay them
    cancelled  returns True to end the solve
    """
    counts, classes = len(lowered.kind), len(lowered.classes.size)
    method: Method = "simplex" if classes >= SPARSE * len(np.unique(lowered.container)) else "ipm"
    found = _solved(model, method, time_s_max, left_out, cancelled)
    known = found.price is not None and found.x is not None
    return Relaxation(
        fractional=None if found.x is None else found.x[:counts],
        price=found.price[:classes] if known and found.price is not None else np.zeros(classes),
        reduced=reduced_costs(model, found.price)[:counts] if known and found.price is not None else np.zeros(counts),
        point=found.x,
        bound=found.bound,
        rows=found.price,
        raw=found.x if has_steps(lowered, model) or lowered.has_cuts else None,
        timed_out=found.timed_out,
    )


def _solved(
    model: Model, method: Method, time_s_max: float, left_out: Bools | None, cancelled: Callable[[], bool] | None
) -> Solution:
    """Solve the relaxation without the penalties `left_out` (C,). If that fails or misses one, solve it with all."""
    until = time.perf_counter() + time_s_max
    if left_out is None or not left_out.any():
        return solve_lp(model, method, Limits(time_s_max=time_s_max), cancelled=cancelled)
    most = LEAN_ITERATIONS_MAX if method == "ipm" else None  # simplex finds out soon that there is no point
    limits = Limits(time_s_max=time_s_max, iterations_max=most)
    found = solve_lp(without(model, left_out), method, limits, cancelled=cancelled)
    if not found.timed_out and (not found.optimal or found.price is None or missed(model, left_out, found.price).any()):
        return solve_lp(model, method, Limits(time_s_max=until - time.perf_counter()), cancelled=cancelled)
    return found if found.price is None else replace(found, bound=bound_from_prices(model, found.price))


def has_steps(lowered: Lowered, model: Model) -> bool:
    """Return whether columns other than counts must be whole."""
    return bool(model.integer[len(lowered.kind) :].any())


def without_quiet(model: Model, quiet: Bools) -> Model:
    """Return the model without the costs of the columns `quiet` (C,).

    The offset of the objective takes the least cost of each such column, so a bound of the result is a bound of
    `model`. Among answers of equal cost an interior point stays in the middle, so every row has slack. Rounding needs
    that slack. A cost that breaks ties would push the point to an edge.
    """
    least = np.minimum(model.cost * model.lower, model.cost * model.upper)[quiet].sum()
    return replace(model, cost=np.where(quiet, 0.0, model.cost), offset=model.offset + float(least))


def quiet_columns(cost: Floats) -> Bools:
    """Return for each column whether its cost only breaks ties, (C,): see QUIET.

    cost  (C,) the cost of each column at one level
    """
    size = np.abs(cost)
    middle = float(np.median(size[size > 0])) if size.any() else 0.0
    return np.asarray((size > 0) & (size < QUIET * middle))
