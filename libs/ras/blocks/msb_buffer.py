"""Expressions 4 and 6: the embedded buffer."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem


def add_msb_buffer(m: Mip, v: Columns, p: CountProblem) -> tuple[Indices, Indices]:
    """A reservation survives the loss of any one MSB, or falls short at a cost.

        sum_g rru[g,r] n[g,r]  -  worst[r]  +  short[r]  >=  capacity[r]      for all r
        worst[r]  >=  sum_{g in m} rru[g,r] n[g,r]                            for all r that must survive, m

    n         (G, R) int    servers of place g bound to reservation r
    rru       (G, R) RRU    relative resource units per server
    worst     (R,)   RRU    capacity in the largest MSB (linearised max); 0 for reservations that need not survive
    short     (R,)   RRU    what is missing
    Rows: R + at most R*M.  Source: RAS, expressions 4 and 6; the softening is docs/adr/0004.
    """
    r = np.arange(p.reservations)
    covered = m.add_rows(
        p.reservations,
        (p.reservation, v.n, p.rru),
        (r, v.worst, -1.0 * p.survives),
        (r, v.short, 1.0),
        lower=p.capacity_rru,
    )
    survives = p.survives[v.cell_reservation]
    row_of_cell = np.cumsum(survives) - 1
    counted = survives[v.cell]
    largest = m.add_rows(
        int(survives.sum()),
        (row_of_cell[v.cell[counted]], v.n[counted], -p.rru[counted]),
        (row_of_cell[survives], v.worst[v.cell_reservation[survives]], 1.0),
        lower=0.0,
    )
    return covered, largest
