"""Section 3.5.1: what is broken may stay broken, and gets no worse."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem

FEASIBLE = 1e-6
"""RRU by which the solver may miss the limit: less, and it takes what meets it for infeasible. Answers are counts, and
phases.py judges those exactly."""


def add_regression(m: Mip, v: Columns, p: CountProblem) -> Indices:
    """No reservation's shortfall and affinity together cost more than they do as things stand.

        (lambda short[r]  +  mu sum_d outside[r,d]) / unit  <=  most[r] / unit      for all r with a limit

    lambda, mu  scalar  costs of an RRU short and of an RRU outside a band; unit, the dearer of the two, scales
    most        (R,)    what the penalties of the present targets cost, so that keeping those is always possible
    Rows: at most R.  Source: RAS, 3.5.1; per reservation and not per expression, docs/adr/0012.
    """
    limited = np.flatnonzero(np.isfinite(p.penalty_most))
    row_of = np.full(p.reservations, -1)
    row_of[limited] = np.arange(len(limited))
    banded = row_of[v.banded_reservation] >= 0
    unit = p.penalty_unit
    return m.add_rows(
        len(limited),
        (np.arange(len(limited)), v.short[limited], p.policy.shortfall_cost / unit),
        (row_of[v.banded_reservation[banded]], v.outside[banded], p.policy.affinity_cost / unit),
        upper=p.penalty_most[limited] / unit + FEASIBLE,
    )
