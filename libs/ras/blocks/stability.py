"""Expression 1: stability."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem


def add_stability(m: Mip, v: Columns, p: CountProblem) -> Indices:
    """A server that leaves its reservation costs M_s.

        n[r,g]  +  leave_cheap[r,g]  +  leave_dear[r,g]  >=  held[r,g]      for all (r, g) with held > 0
        leave_cheap <= held_cheap,  leave_dear <= held_dear

    held  (R, G) int   servers of place g that the present targets bind to r; leaving the cheap ones (idle) first is
                       optimal because the cost is convex in the number that leaves
    Rows: H, the pairs with held > 0.  Source: RAS, expression 1; counted per place, docs/adr/0003.
    """
    h = np.arange(len(v.stays))
    return m.add_rows(
        len(h), (h, v.n[v.stays], 1.0), (h, v.leave_cheap, 1.0), (h, v.leave_dear, 1.0), lower=p.held[v.stays]
    )
