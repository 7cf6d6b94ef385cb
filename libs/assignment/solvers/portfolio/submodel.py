"""Fix most columns of a model at their present values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.assignment.language.arrays import Floats, Ints
from libs.mip.model import Model

FEASIBLE = 1e-6
"""Tolerance for rows of whole answers in a solver. With less, it finds answers that just meet them infeasible."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Submodel:
    """A model over the free columns; columns (c,) and rows (n,) are their numbers in the whole."""

    model: Model
    columns: Ints
    rows: Ints

    def with_bounds(self, lower: Floats, upper: Floats) -> Model:
        """Return the model with other bounds on the columns."""
        return replace(self.model, lower=lower, upper=upper)


def restrict(model: Model, columns: Ints, x: Floats, activity: Floats) -> Submodel:
    """Free some columns (c,) of a model. All others stay as in the point x (C,), whose rows have the values `activity`
    (N,).

    Rows without a free column are left out, because they do not change.
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


def loosened(model: Model, rows: Ints) -> Model:
    """Return the model with some rows widened by FEASIBLE."""
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    lower[rows] -= FEASIBLE
    upper[rows] += FEASIBLE
    return replace(model, row_lower=lower, row_upper=upper)
