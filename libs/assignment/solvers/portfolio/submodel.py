"""A model with most of its columns fixed where they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.assignment.language.arrays import Floats, Ints
from libs.mip.model import Model

FEASIBLE = 1e-6
"""By which rows of whole answers may be missed in a solver: less, and it takes what just meets them for infeasible."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Submodel:
    """A model over the columns that are free; columns (c,) and rows (n,) are which of the whole these are."""

    model: Model
    columns: Ints
    rows: Ints

    def with_bounds(self, lower: Floats, upper: Floats) -> Model:
        """The same with other bounds on the columns."""
        return replace(self.model, lower=lower, upper=upper)


def restrict(model: Model, columns: Ints, x: Floats, activity: Floats) -> Submodel:
    """Free some columns (c,) of a model; all others stay as in the point x (C,), whose rows come to `activity` (N,).

    Rows without a free column are left out: they stay as they are.
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
    """The model with some rows that may be missed by FEASIBLE."""
    lower, upper = model.row_lower.copy(), model.row_upper.copy()
    lower[rows] -= FEASIBLE
    upper[rows] += FEASIBLE
    return replace(model, row_lower=lower, row_upper=upper)
