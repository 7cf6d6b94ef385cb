"""Rounding is a network: whole counts within the floors and ceilings of a fractional plan and of its sums."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Floats
from libs.mip.highs import SolverError, solve_lp
from libs.mip.model import Mip
from libs.ras.problem import CountProblem, Counts, Index

FUZZ = 1e-6
"""An interior point is whole only to about this precision."""


def round_counts(problem: CountProblem, fractional: Floats) -> Counts:
    """Whole counts whose sums stay within the floor and the ceiling of the fractional sums.

        floor(f[r,g])         <=  n[r,g]              <=  ceil(f[r,g])
        floor(sum_t f[r,m,t]) <=  sum_t n[r,m,t]      <=  ceil(sum_t f[r,m,t])      for all r, m
        floor(sum_g f[r,g])   <=  sum_g n[r,g]        <=  ceil(sum_g f[r,g])        for all r
        floor(sum_r f[r,g])   <=  sum_r n[r,g]        <=  ceil(sum_r f[r,g])        for all places g

    The sums of the first two kinds are nested, and so are those of the last: two laminar families, hence a
    transportation problem whose vertices are whole. The fractional plan itself satisfies it, so there is one. Of the
    vertices it takes one nearest to the fractional plan. What RRUs lose by it is mended next.
    """
    f = np.clip(np.nan_to_num(fractional), 0.0, problem.most)
    used = np.bincount(problem.place, f, len(problem.supply))
    f *= np.minimum(1.0, problem.supply / np.maximum(used, 1e-9))[problem.place]  # a relaxation cut short may overbook
    low, high = np.floor(f + FUZZ), np.ceil(f - FUZZ)
    open_ = np.flatnonzero(high > low)
    counts = low.astype(np.int64)
    if not len(open_):
        return counts
    m = Mip()
    n = m.add_columns(len(open_), cost=1.0 - 2.0 * (f - low)[open_], upper=1.0)
    cell = problem.reservation * problem.msbs + problem.msb
    for key in (cell, problem.reservation, problem.place):
        _add_sums(m, n, key[open_], f[open_] - low[open_])
    model = m.build()
    found = solve_lp(model, "simplex")
    if found.x is None or not found.optimal:
        raise SolverError(f"the rounding network has a solution, yet HiGHS says {found.status}")
    counts[open_] += np.rint(found.x).astype(np.int64)
    return counts


def _add_sums(m: Mip, n: Index, key: Index, fraction: Floats) -> None:
    keys, row = np.unique(key, return_inverse=True)
    total = np.bincount(row, fraction, len(keys))
    m.add_rows(len(keys), (row, n, 1.0), lower=np.floor(total + FUZZ * 10), upper=np.ceil(total - FUZZ * 10))
