"""A bound that holds whatever the solver did: from the prices of the rows alone."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Floats, Model


def bound_from_prices(model: Model, price: Floats) -> float:
    """A lower bound on the objective of the model's relaxation, valid for any price vector.

        min_{lower <= x <= upper}  (cost - A' price) . x   +   min_{row_lower <= y <= row_upper}  price . y   +   offset

    price  (N,)  one per row; a price that points at an infinite side of its row is taken as 0

    It is finite only where every column with a reduced cost of the wrong sign has a finite bound, so models whose
    bound matters give every column finite bounds. Weak duality: no precision of the solver is trusted.
    """
    usable = np.where((np.isinf(model.row_lower) & (price > 0)) | (np.isinf(model.row_upper) & (price < 0)), 0.0, price)
    usable = np.nan_to_num(usable, nan=0.0, posinf=0.0, neginf=0.0)
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


def reduced_costs(model: Model, price: Floats) -> Floats:
    """(C,) what one more unit of each column costs after paying the rows' prices."""
    return np.asarray(model.cost - model.matrix.T @ price)
