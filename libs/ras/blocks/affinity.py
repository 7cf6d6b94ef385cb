"""Expression 7: network affinity."""

from __future__ import annotations

import numpy as np

from libs.mip.model import Indices, Mip
from libs.ras.columns import Columns
from libs.ras.problem import CountProblem


def add_affinity(m: Mip, v: Columns, p: CountProblem) -> tuple[Indices, Indices]:
    """A reservation's share in a datacenter stays within a band, or pays per RRU outside it.

        sum_{g in d} rru[g,r] n[g,r]  -  outside[r,d]  <=  (A[r,d] + theta) capacity[r]      for all pairs (r, d)
        sum_{g in d} rru[g,r] n[g,r]  +  outside[r,d]  >=  (A[r,d] - theta) capacity[r]      with an affinity

    A        (R, D)   fraction of the reservation's capacity; only the listed pairs are constrained
    theta    scalar   tolerance
    outside  (R, D) RRU
    Rows: 2 per pair.  Source: RAS, expression 7; the softening is docs/adr/0004.
    """
    pairs = np.arange(len(v.outside))
    pair_of = np.full(p.affinity_share.shape, -1)
    pair_of[v.banded_reservation, v.banded_datacenter] = pairs
    pair = pair_of[p.reservation, p.msb_datacenter[p.msb]]
    counted = pair >= 0
    inside = (pair[counted], v.n[counted], p.rru[counted])
    capacity = p.capacity_rru[v.banded_reservation]
    share, theta = p.affinity_share[v.banded_reservation, v.banded_datacenter], p.policy.affinity_tolerance
    above = m.add_rows(len(pairs), inside, (pairs, v.outside, -1.0), upper=(share + theta) * capacity)
    below = m.add_rows(len(pairs), inside, (pairs, v.outside, 1.0), lower=(share - theta) * capacity)
    return above, below
