"""Solve the relaxation: a fractional plan, a price for an object of each class, and a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.mip.bound import reduced_costs
from libs.mip.highs import Limits, solve_lp
from libs.mip.model import Model

QUIET = 1e-4
"""Share of the median cost of a level below which a column only breaks ties."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxation:
    """K classes, Q counts.

    fractional  (Q,) or None   the plan in fractions of objects; None if the solve was cut short before it had one
    price       (K,)           cost of one more object of a class: below 0 if it would be useful
    reduced     (Q,)           least cost of one more object in a count beyond its price
    point       (C,) or None   all columns at the fractional plan
    bound       float          lower bound for all assignments, from the row prices alone, so independent of a solver's
                               precision
    rows        (N,) or None   the row prices of the bound; None without a bound
    """

    fractional: Floats | None
    price: Floats
    reduced: Floats
    point: Floats | None
    bound: float
    timed_out: bool
    rows: Floats | None = None

    def at_least(self, cost: Floats, least: float) -> Relaxation:
        """Return the relaxation of another objective (C,), which is at its `least` at this point.

        Prices of 0 prove that, so no solver is needed.
        """
        counts, classes = len(self.reduced), len(self.price)
        return replace(self, price=np.zeros(classes), reduced=cost[:counts], bound=least, rows=None)


def relax(
    lowered: Lowered,
    model: Model,
    time_s_max: float = np.inf,
    *,
    cancelled: Callable[[], bool] | None = None,
) -> Relaxation:
    """Relax by an interior point method without crossover: prices and a central point cost a tenth of a basis.

    model   `lowered.weighted` or `lowered.at` of it, or one with the same columns and rows
    """
    counts, classes = len(lowered.kind), len(lowered.classes.size)
    found = solve_lp(model, "ipm", Limits(time_s_max=time_s_max), cancelled=cancelled)
    known = found.price is not None and found.x is not None
    return Relaxation(
        fractional=None if found.x is None else found.x[:counts],
        price=found.price[:classes] if known and found.price is not None else np.zeros(classes),
        reduced=reduced_costs(model, found.price)[:counts] if known and found.price is not None else np.zeros(counts),
        point=found.x,
        bound=found.bound,
        rows=found.price,
        timed_out=found.timed_out,
    )


def without_quiet(model: Model, quiet: Bools) -> Model:
    """Return the model without the costs of some columns (C,). Each counts at its least cost, so bounds stay valid.

    Among answers of equal cost an interior point stays in the middle, so it has slack everywhere. Rounding needs that
    slack. A broken tie pushes the point to an edge.
    """
    least = np.minimum(model.cost * model.lower, model.cost * model.upper)[quiet].sum()
    return replace(model, cost=np.where(quiet, 0.0, model.cost), offset=model.offset + float(least))


def quiet_columns(cost: Floats) -> Bools:
    """Return the columns (C,) whose cost only breaks ties among those of one level."""
    size = np.abs(cost)
    middle = float(np.median(size[size > 0])) if size.any() else 0.0
    return np.asarray((size > 0) & (size < QUIET * middle))
