"""Scale a model to units that suit the solver, because its tolerances are absolute numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.domain.arrays import Floats
from libs.mip.model import Model

NEAR, FAR = 1e-5, 1e7
"""A model is left unscaled if the sizes of all its nonzero numbers lie between these two."""
RANGE = 2.0**20
"""Largest number that a row may contain after scaling. It takes precedence over scaling the smallest number to 1."""
VISIBLE = 1e-6
"""A cost that is smaller than this after scaling is lost: the solver takes it for 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaling:
    """A scaled model: x = column * x', rows' = row * rows, cost' = cost * column * objective.

    column, row  (C,) and (N,); integer columns keep a unit of 1. All are powers of 2, so that nothing is rounded
    hidden       the most that costs too small for the solver can add up to, in the objective's own unit
    """

    model: Model
    column: Floats
    row: Floats
    objective: float
    hidden: float


def scaled(model: Model) -> Scaling:
    """Return the model with continuous columns scaled to a range of about 1.

    Each row, and the cost, is then scaled so that its smallest number is 1. Scaling by the smallest number, not the
    largest, keeps a 1 beside 1e9 visible. The smallest number ends below 1 only if the largest would otherwise exceed
    RANGE.
    """
    column, row = np.ones(len(model.cost)), np.ones(len(model.row_lower))
    bound = np.maximum(_finite(model.lower), _finite(model.upper))
    if _all_near(model.cost, model.matrix.data, np.where(model.integer, 0.0, bound)):
        return Scaling(model=model, column=column, row=row, objective=1.0, hidden=0.0)
    column = np.where(model.integer | (bound == 0), 1.0, _power(bound))
    matrix = sp.csr_array(model.matrix @ sp.diags_array(column))
    row = _units(matrix)
    cost = model.cost * column
    objective = float(_units(sp.csr_array(cost[None, :]))[0])
    return Scaling(
        model=replace(
            model,
            cost=cost * objective,
            lower=model.lower / column,
            upper=model.upper / column,
            row_lower=model.row_lower * row,
            row_upper=model.row_upper * row,
            matrix=sp.csc_array(sp.diags_array(row) @ matrix),
            offset=model.offset * objective,
        ),
        column=column,
        row=row,
        objective=objective,
        hidden=_hidden(model, np.abs(cost) * objective),
    )


def _hidden(model: Model, cost: Floats) -> float:
    small = np.flatnonzero((cost > 0) & (cost < VISIBLE))
    return float((np.abs(model.cost[small]) * (model.upper[small] - model.lower[small])).sum())


def _units(matrix: sp.csr_array) -> Floats:
    """Return the (N,) factors of the rows; 1 for empty rows."""
    size = np.abs(matrix.data)
    entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[size > 0]
    least, most = np.full(matrix.shape[0], np.inf), np.zeros(matrix.shape[0])
    np.minimum.at(least, entry, size[size > 0])
    np.maximum.at(most, entry, size[size > 0])
    some = most > 0
    return np.where(some, _power(np.minimum(1.0 / least, RANGE / np.where(some, most, 1.0))), 1.0)


def _all_near(*numbers: Floats) -> bool:
    size = np.concatenate([np.abs(one[one != 0]) for one in numbers])
    return bool(((size >= NEAR) & (size <= FAR)).all())


def _finite(bound: Floats) -> Floats:
    return np.where(np.isfinite(bound), np.abs(bound), 0.0)


def _power(of: Floats) -> Floats:
    """Return the largest power of 2 that is not above each number; 1 for a 0."""
    return np.exp2(np.floor(np.log2(np.where(of > 0, of, 1.0))))
