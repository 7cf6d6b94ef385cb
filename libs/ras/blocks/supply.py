"""Expression 5: a server is bound at most once."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem


def add_supply(m: Mip, v: Columns, p: CountProblem) -> Indices:
    """No more servers are bound than there are.

        sum_r n[r,g]  <=  supply[g]        for all places g

    n       (R, G) int   servers of place g = (MSB, hardware type) bound to reservation r
    supply  (G,)   int   servers that are up and not leaving
    Rows: G = M*T.  Source: RAS, expression 5, summed over the servers of a place.
    """
    return m.add_rows(len(p.supply), (p.place, v.n, np.ones(len(v.n))), upper=p.supply)
