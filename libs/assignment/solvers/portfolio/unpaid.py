"""Tell which penalties a known point pays, and leave all others out of a linear program.

An interior point method begins far from its answer if a model has costs of very different sizes. It takes a quarter to
half less time without large penalties that the answer does not pay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.mip.bound import reduced_costs
from libs.mip.model import Model

DEAR = 30.0
"""A column is a penalty if it costs more than DEAR times the median of all positive costs."""
PAID = 1e-9
"""Largest distance from its lower bound at which a column is not paid."""
SAVES = 1e-6
"""Share of its cost that a penalty must save to be missed. A smaller saving is rounding."""


def penalties(model: Model) -> Bools:
    """Return for each column whether it is a penalty, (C,): see DEAR."""
    positive = model.cost[model.cost > 0]
    if not len(positive):
        return np.zeros(len(model.cost), dtype=np.bool_)
    return np.asarray(model.cost > DEAR * np.median(positive))


def unpaid(model: Model, penalty: Bools, x: Floats) -> Bools:
    """Return the penalties of `penalty` (C,) that the point `x` (C,) has at their lower bounds, (C,)."""
    return np.asarray(penalty & (x <= model.lower + PAID))


def paying(model: Model, shares: Shares, x: Floats) -> Bools:
    """Return for each container whether it pays a penalty at the point `x` (C,), (K,)."""
    penalty = penalties(model)
    paid = penalty & ~unpaid(model, penalty, x)
    return np.asarray(shares.columns.T @ paid.astype(np.float64) > 0)


def without(model: Model, left_out: Bools) -> Model:
    """Return `model` with the columns `left_out` (C,) held at their lower bounds."""
    return replace(model, upper=np.where(left_out, model.lower, model.upper))


def missed(model: Model, left_out: Bools, price: Floats) -> Bools:
    """Return the columns of `left_out` (C,) that could save cost at the row prices `price` (N,), (C,).

    Without any, the answer is also an answer of the model in which nothing is left out. Else its bound is too low.
    """
    return np.asarray(left_out & (reduced_costs(model, price) < -SAVES * np.abs(model.cost)))
