"""Expressions 4, 5, 7, 11, 14 and 15: the hardware of a region suffices at the end of a step and during it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from libs.domain.arrays import Floats
from libs.flux.program.capacity_terms import CapacityTerms
from libs.flux.program.columns import Columns
from libs.flux.program.growth_terms import GrowthTerms
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices, Mip


def add_pools(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms, g: GrowthTerms) -> Indices:
    """Capacity fits into the supply: the excess is a deficit, and the rest of the supply is spare.

        sum_{k of h} (c[t,k,r] + g[t,k,r] + late[t,k,r]) + s[t,h,r] - d[t,h,r]  =  m[t,h,r]     for all t, h, r
        s[t,h,r] + sum_{k of h} (g[t,k,r] - down[t,k,r])  >=  0                                for all t, h, r
        late[t,k,r]  =  (upsized - 1) up[t,k,r] + (1 - downsized) down[t,k,r]

    m       (T, H, R)  supply
    down    (T, K, R)  freed since the previous step. Upsizes come first, so they cannot use it (expressions 14, 15)
    late               capacity that past cycles added beyond plan, or did not give back; 0 by default
    Rows: 2*T*H*R. Returns those of the supply.  Source: Flux, expressions 11, 14 and 15; executed shares: 6.2.
    """
    T, _, R, H, _, _ = p.shape
    cell = np.arange(T * H * R).reshape(T, H, R)
    mine, grown, constant = cell[:, p.kind], g.entries(cell[:, p.kind]), p.pooled(g.constant)
    upsized, downsized = p.policy.executed_upsize_share, p.policy.executed_downsize_share
    kept = max(1.0 - downsized, 0.0)
    late: list[tuple[ArrayLike, ArrayLike, ArrayLike]] = [(mine, v.down, kept)] if kept > 0 else []
    if v.up.size:
        late.append((mine, v.up, upsized - 1.0))
    fits = m.add_rows(
        cell.size,
        *c.entries(mine),
        *grown,
        (cell, v.s, 1.0),
        (cell, v.d, -1.0),
        *late,
        lower=(p.supply - constant).ravel(),
        upper=(p.supply - constant).ravel(),
    )
    m.add_rows(cell.size, (cell, v.s, 1.0), *grown, (mine, v.down, -1.0), lower=-constant.ravel())
    return fits.reshape(T, H, R)


def add_changes(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms) -> Indices:
    """Capacity freed since the previous step is counted, and added capacity too if upsizes are priced.

        c[t,k,r] - c[t-1,k,r] + down[t,k,r] - up[t,k,r]  =  0               for all t, k, r;  c[0] = kappa

    Without a price for upsizes `up` is no column, and the row says >= 0.

    kappa  (K, R)  the baseline
    Rows: T*K*R.  Source: Flux, expressions 8 and 14.
    """
    T, _, R, _, _, K = p.shape
    cell = np.arange(T * K * R).reshape(T, K, R)
    before = np.zeros((T, K, R))
    before[0] = p.kappa
    later = np.full((T, K, R), -1)
    later[:-1] = cell[1:]
    entries: list[tuple[ArrayLike, ArrayLike, ArrayLike]] = [
        *c.entries(cell),
        *c.entries(later, -1.0),
        (cell, v.down, 1.0),
    ]
    if v.up.size:  # a free excess of `up` over the upsizes would hide spare from the goals
        entries.append((cell, v.up, -1.0))
    upper = before.ravel() if v.up.size else np.inf
    return m.add_rows(cell.size, *entries, lower=before.ravel(), upper=upper).reshape(T, K, R)


def add_even_spare(m: Mip, v: Columns, p: JointProblem) -> None:
    """Spare hardware is spread in proportion to the regions' supply.

        sum_r s[t,h,r]  =  spare[t,h]                                           for all t, h
        |s[t,h,r] - part[t,h,r] spare[t,h]|  <=  uneven[t,h,r]                  for all t, h, r

    part  (T, H, R)  the region's part of the supply of a type
    Rows: T*H + 2*T*H*R.  Source: Flux, expression 7, as the interchange format reads it.
    """
    T, _, R, H, _, _ = p.shape
    pool, cell = np.arange(T * H).reshape(T, H, 1), np.arange(T * H * R).reshape(T, H, R)
    part = _part(p.supply)
    m.add_rows(T * H, (pool, v.s, 1.0), (pool[:, :, 0], v.spare, -1.0), lower=0.0, upper=0.0)
    for sign in (1.0, -1.0):
        m.add_rows(
            cell.size,
            (cell, v.uneven, 1.0),
            (cell, v.s, -sign),
            (cell, v.spare[:, :, None], sign * part),
            lower=0.0,
        )


def _part(supply: Floats) -> Floats:
    total = supply.sum(2, keepdims=True)
    even = np.full_like(supply, 1.0 / supply.shape[2])
    return np.asarray(np.divide(supply, total, out=even, where=total > 0))
