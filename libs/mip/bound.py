"""A lower bound on the objective that follows from the row prices alone and does not trust the solver."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats
from libs.mip.model import Model


def bound_from_prices(model: Model, price: Floats) -> float:
    """Return a lower bound on the objective of the model's relaxation, valid for any price vector.

        min_{lower <= x <= upper}  (cost - A' price) . x   +   min_{row_lower <= y <= row_upper}  price . y   +   offset

    price  (N,)  one per row; a price that points at an infinite side of its row is taken as 0

    The bound follows from weak duality, so it trusts no precision of the solver. It is -inf if a column has an infinite
    bound on the side that its reduced cost points to. Models that need a finite bound must give every column finite
    bounds.
    """
    usable = usable_prices(model, price)
    reduced = reduced_costs(model, usable)
    rows = np.zeros_like(usable)
    up, down = usable > 0, usable < 0
    rows[up] = usable[up] * model.row_lower[up]
    rows[down] = usable[down] * model.row_upper[down]
    columns = np.zeros_like(reduced)
    up, down = reduced > 0, reduced < 0
    columns[up] = reduced[up] * model.lower[up]
    columns[down] = reduced[down] * model.upper[down]
    return float(rows.sum() + columns.sum()) + model.offset


def usable_prices(model: Model, price: Floats) -> Floats:
    """Return the prices (N,). A price that is not finite, or points at an infinite side of its row, becomes 0."""
    endless = (np.isinf(model.row_lower) & (price > 0)) | (np.isinf(model.row_upper) & (price < 0))
    return np.nan_to_num(np.where(endless, 0.0, price), nan=0.0, posinf=0.0, neginf=0.0)


def reduced_costs(model: Model, price: Floats) -> Floats:
    """Return the (C,) reduced costs: the cost of one more unit of each column, less the row prices it pays."""
    return np.asarray(model.cost - model.matrix.T @ price)
