"""Expression 13: inorganic growth follows the capacity that it adds to."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Floats
from libs.flux.columns import Columns
from libs.flux.problem import JointProblem
from libs.mip.model import Indices, Mip


def add_growth(m: Mip, v: Columns, p: JointProblem, share: Floats) -> Indices:
    """A placement grows by its share of the growth that its service is granted.

        g[t,k,r]  =  share[t,k,r] (gamma[t,s] - withheld[t,s]) / ratio[k]     for all t, k of a service s that grows, r

    share     (T, K, R)  part of the service's capacity there, from the solve before: sums to 1 over k of s and r
    gamma     (T, S)     growth asked for, in units of the service's own type
    withheld  (T, S)     only where it may give way
    Rows: T*J*R.  Source: Flux, expression 13, bilinear; solved with shares that settle, docs/designs/0009.
    """
    T, _, _, _, S, _ = p.shape
    cell = np.arange(v.g.size).reshape(v.g.shape)
    part = share[:, v.grown] / p.ratio[v.grown][None, :, None]
    asked = (part * p.growth[:, p.service[v.grown]][:, :, None]).ravel()
    column = np.full(T * S, -1)
    column[v.withheld_of] = v.withheld
    column = np.broadcast_to(column.reshape(T, S)[:, p.service[v.grown]][:, :, None], cell.shape)
    may = column >= 0
    return m.add_rows(
        cell.size, (cell, v.g, 1.0), (cell[may], column[may], part[may]), lower=asked, upper=asked
    ).reshape(cell.shape)


def add_held_shares(m: Mip, v: Columns, p: JointProblem, share: Floats, held: float) -> None:
    """Capacity keeps the shares that growth was settled with, to a tolerance.

        |ratio[k] c[t,k,r] - share[t,k,r] total[t,s]|  <=  held total[t,s]      for all t, k of growing s, r
        total[t,s]  =  sum_{k of s, r} ratio[k] c[t,k,r]

    Rows: 2*T*J*R + T*S.  For programs whose answers go back and forth: shares become limits.
    """
    T, _, _, _, S, _ = p.shape
    service = p.service[v.grown]
    cell, pool = np.arange(v.g.size).reshape(v.g.shape), np.arange(T * S).reshape(T, S)
    total = m.add_columns(T * S).reshape(T, S)
    mine = pool[:, p.service][:, :, None]
    m.add_rows(T * S, (mine, v.c, p.ratio[None, :, None]), (pool, total, -1.0), lower=0.0, upper=0.0)
    all_of = total[:, service][:, :, None]
    for sign in (1.0, -1.0):
        m.add_rows(
            cell.size,
            (cell, v.c[:, v.grown], sign * p.ratio[v.grown][None, :, None]),
            (cell, all_of, -sign * share[:, v.grown] - held),
            upper=0.0,
        )
