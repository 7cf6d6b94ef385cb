"""Expression 13: inorganic growth follows the capacity that it adds to."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Floats
from libs.flux.capacity_terms import CapacityTerms
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


def add_held_shares(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms, share: Floats, held: float) -> None:
    """Capacity keeps the shares that growth was settled with, to a tolerance.

        |ratio[k] c[t,k,r] - share[t,k,r] total[t,s]|  <=  held total[t,s]      for all t, k of growing s, r
        total[t,s]  =  sum_p phi[s,p] (1 + tau[t,p])  +  sum_r (r_up[t,s,r] - r_down[t,s,r])

    Rows: 2*T*J*R + T*S.  For programs whose answers go back and forth: shares become limits.
    """
    T, _, R, _, S, K = p.shape
    cell, pool = np.arange(v.g.size).reshape(v.g.shape), np.arange(T * S).reshape(T, S)
    total, needed = m.add_columns(T * S).reshape(T, S), (p.traffic @ p.phi.T).ravel()
    m.add_rows(
        T * S,
        (pool, total, 1.0),
        (pool[:, :, None], v.r_up, -1.0),
        (v.r_down_cell // R, v.r_down, 1.0),
        lower=needed,
        upper=needed,
    )
    row = np.full((T, K, R), -1)
    row[:, v.grown] = cell
    factor = p.ratio[v.grown][None, :, None]
    all_of = total[:, p.service[v.grown]][:, :, None]
    for sign in (1.0, -1.0):
        allowed = (-sign * share[:, v.grown] - held) / factor
        m.add_rows(cell.size, *c.entries(row, sign), (cell, all_of, allowed), upper=0.0)
