"""Expression 3: spread over MSBs."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem


def add_msb_spread(m: Mip, v: Columns, p: CountProblem) -> Indices:
    """Capacity of a reservation in one MSB above its limit costs beta per RRU.

        excess[r,m]  >=  sum_{g in m} rru[g,r] n[g,r]  -  alpha[r] capacity[r]      for all r with a limit, m

    excess  (R, M) RRU     cost beta each
    alpha   (R,)   fraction of the reservation's capacity
    Rows: at most R*M.  Source: RAS, expression 3.
    """
    row_of_cell = np.full(len(v.cell_reservation), -1)
    row_of_cell[v.limited] = np.arange(len(v.limited))
    counted = row_of_cell[v.cell] >= 0
    return m.add_rows(
        len(v.limited),
        (row_of_cell[v.cell[counted]], v.n[counted], -p.rru[counted]),
        (np.arange(len(v.limited)), v.excess, 1.0),
        lower=-p.msb_limit_rru[v.cell_reservation[v.limited]],
    )
