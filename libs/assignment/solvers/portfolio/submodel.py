"""Fix most columns of a model at their present values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.model.lowered import Lowered
from libs.mip.model import Model

FEASIBLE = 1e-6
"""Amount by which rows are widened for branch and bound. With less, HiGHS calls answers infeasible that just fit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Submodel:
    """A model of the free columns of a whole model, in which all other columns are fixed.

    columns  (c,) the number of each free column in the whole model
    rows     (n,) the number of each remaining row in the whole model
    """

    model: Model
    columns: Ints
    rows: Ints


def restrict(model: Model, columns: Ints, x: Floats, activity: Floats) -> Submodel:
    """Return a submodel in which the columns `columns` (c,) of `model` are free.

    All other columns keep their values in the point `x` (C,). The rows have the values `activity` (N,) at that point.
    Rows without a free column are left out, because their values cannot change.
    """
    part = model.matrix[:, columns]
    rows, index = np.unique(part.indices, return_inverse=True)
    part = sp.csc_array((part.data, index, part.indptr), shape=(len(rows), len(columns)))
    fixed = activity[rows] - part @ x[columns]
    return Submodel(
        model=Model(
            cost=model.cost[columns],
            lower=model.lower[columns],
            upper=model.upper[columns],
            integer=model.integer[columns],
            row_lower=model.row_lower[rows] - fixed,
            row_upper=model.row_upper[rows] - fixed,
            matrix=part,
        ),
        columns=columns,
        rows=rows.astype(np.int64),
    )


def at_prices(lowered: Lowered, sub: Submodel, price: Floats) -> Submodel:
    """Return `sub` without supply rows. Instead each object in a count costs the price of its class.

    price  (K,) of the classes
    """
    classes, width = len(lowered.classes.size), len(lowered.kind)
    own, counts = np.flatnonzero(sub.rows >= classes), sub.columns < width
    cost = sub.model.cost.copy()
    cost[counts] -= price[lowered.kind[sub.columns[counts]]]
    part = replace(
        sub.model,
        cost=cost,
        row_lower=sub.model.row_lower[own],
        row_upper=sub.model.row_upper[own],
        matrix=sp.csc_array(sp.csr_array(sub.model.matrix)[own]),
    )
    return replace(sub, model=part, rows=sub.rows[own])


def parts_at_prices(lowered: Lowered, model: Model, parts: list[Ints], x: Floats, price: Floats) -> Iterator[Submodel]:
    """Yield the program of each part with the columns `parts`, in which objects have the prices `price` (K,).

    x  (C,) the values of all other columns
    """
    activity = model.matrix @ x
    for columns in parts:
        yield at_prices(lowered, restrict(model, columns, x, activity), price)


def loosened(model: Model, rows: Ints) -> Model:
    """Return `model` with the bounds of the rows `rows` widened by FEASIBLE."""
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    lower[rows] -= FEASIBLE
    upper[rows] += FEASIBLE
    return replace(model, row_lower=lower, row_upper=upper)
