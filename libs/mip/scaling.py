"""A model in units that suit a solver, whose tolerances are absolute numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.mip.model import Floats, Model

NEAR, FAR = 1e-5, 1e7
"""Models whose numbers all lie between are left as they are."""
RANGE = 2.0**20
"""The most that a number may come to so that the smallest beside it becomes 1."""
VISIBLE = 1e-6
"""Costs that are smaller, per column's range, are lost in what a solver takes for 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaling:
    """A model in other units: x = column * x', rows' = row * rows, cost' = cost * column * objective.

    column, row  (C,) and (N,); integers keep a unit of 1. All are powers of 2, so that nothing is rounded
    hidden       of the objective, in its own unit: what costs too small for a solver may come to
    """

    model: Model
    column: Floats
    row: Floats
    objective: float
    hidden: float


def scaled(model: Model) -> Scaling:
    """Bring continuous columns to a range of about 1; then the smallest number of each row, and of the cost, to 1.

    The smallest, and not the largest: 1 beside 1e9 still counts. Only where that would take others past RANGE are
    they smaller.
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
    """(N,) what each row is multiplied by; 1 for empty ones."""
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
    """The power of 2 that is next below."""
    return np.exp2(np.floor(np.log2(np.where(of > 0, of, 1.0))))
