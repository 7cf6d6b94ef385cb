"""The smallest relaxation of bounds that makes an infeasible model feasible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from libs.domain.arrays import Floats
from libs.mip.highs import solve_lp
from libs.mip.model import Indices, Model


def least_relaxation(model: Model, columns: Indices, rows: Indices) -> tuple[Floats, Floats] | None:
    """Return the changes of the bounds of `columns` and `rows` that make the model feasible. Their sum is least.

        min sum (under + over)   such that   lower - under <= x <= upper + over     likewise for the rows

    Return arrays of shape (len(columns),) and (len(rows),): negative below a lower bound, positive above an upper one.
    Return None if no change of these bounds helps.
    """
    chosen, loose = np.asarray(columns, np.intp).ravel(), np.asarray(rows, np.intp).ravel()
    n, count, bounds = len(model.cost), len(model.row_lower), len(chosen)
    lower, upper = model.lower.copy(), model.upper.copy()
    lower[chosen], upper[chosen] = -np.inf, np.inf
    total = bounds + len(loose)
    slack = np.concatenate([count + np.arange(bounds), loose])  # the row in which each bound is written
    give = sp.csr_array((np.ones(total), (slack, np.arange(total))), shape=(count + bounds, total))
    written = sp.csr_array((np.ones(bounds), (np.arange(bounds), chosen)), shape=(bounds, n))
    relaxed = replace(
        model,
        cost=np.concatenate([np.zeros(n), np.ones(2 * total)]),
        lower=np.concatenate([lower, np.zeros(2 * total)]),
        upper=np.concatenate([upper, np.full(2 * total, np.inf)]),
        integer=np.zeros(n + 2 * total, bool),
        row_lower=np.concatenate([model.row_lower, model.lower[chosen]]),
        row_upper=np.concatenate([model.row_upper, model.upper[chosen]]),
        matrix=sp.csc_array(sp.hstack([sp.vstack([model.matrix, written]), give, -give])),
        offset=0.0,
    )
    found = solve_lp(relaxed, "simplex")
    if found.x is None or not found.optimal:
        return None
    gives = found.x[n + total :] - found.x[n : n + total]
    return gives[:bounds], gives[bounds:]
