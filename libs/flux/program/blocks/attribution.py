"""Expressions 6, 9 and 10: capacity follows traffic, apart from the residual."""

from __future__ import annotations

import numpy as np

from libs.flux.program.capacity_terms import CapacityTerms
from libs.flux.program.columns import Columns
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices, Mip


def add_attribution(m: Mip, v: Columns, p: JointProblem) -> None:
    """Capacity equals the need of traffic plus the residual, for services on several hardware types.

        sum_k ratio[k] c[t,k,r]  -  sum_p phi[s,p] x[t,p,r]  -  r_up[t,s,r] + r_down[t,s,r]  =  0

    for all t, s with several placements, r. CapacityTerms substitutes this equality for services with one placement.

    c      (T, E, R)  capacity of a placement k of s, in units of its type
    phi    (S, P)     capacity for all traffic of a product of today, in units of the service's own type
    r_up - r_down  (T, S, R)  residual, bounded by expression 10
    Rows: T*R per service with several types.  Source: Flux, expressions 9, 10 and 6.
    """
    T, _, R, _, S, _ = p.shape
    several = np.flatnonzero(~p.alone)
    cell = np.full((T, S, R), -1)
    cell[:, several] = np.arange(T * len(several) * R).reshape(T, len(several), R)
    service, product = np.nonzero(p.phi[several])
    below = cell.ravel()[v.r_down_cell]
    m.add_rows(
        T * len(several) * R,
        (cell[:, p.service[v.chosen]], v.c, p.ratio[v.chosen][None, :, None]),
        (cell[:, several[service]], v.x[:, product], -p.phi[several[service], product][None, :, None]),
        (cell[:, several], v.r_up[:, several], -1.0),
        (below[below >= 0], v.r_down[below >= 0], 1.0),
        lower=0.0,
        upper=0.0,
    )


def add_granted_baseline(m: Mip, v: Columns, p: JointProblem) -> None:
    """A service keeps at least the capacity that it was granted worldwide.

        sum_r (r_up[t,s,r] - r_down[t,s,r])  >=  sum_r kappa[t,s,r]  -  sum_p phi[s,p] traffic[t,p]       for all t, s

    This is the sum of expression 9 over regions; expression 12 gives the total traffic.
    Rows: T*S.  Source: Flux, 3.3, optimisation constraints.
    """
    T, _, R, _, S, _ = p.shape
    cell = np.arange(T * S).reshape(T, S)
    m.add_rows(
        T * S,
        (cell[:, :, None], v.r_up, 1.0),
        (v.r_down_cell // R, v.r_down, -1.0),
        lower=(p.total_min - p.traffic @ p.phi.T).ravel(),
    )


def add_limits(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms) -> tuple[Indices, Indices]:
    """Capacity is at least 0 and stays within the limits that people set.

        capacity_min[t,k,r]  <=  c[t,k,r]  <=  capacity_max[t,k,r]

    for all t, k, r at which c is no column with bounds of its own, and traffic and residual could leave the limits.
    Rows: at most T*K*R. Returns their indices, and the flat (T, K, R) index of the cell of each.
    """
    T, _, R, _, S, K = p.shape
    may = np.zeros((T, K, R), bool)
    may.reshape(-1)[v.r_down_cell + (v.r_down_cell // (S * R)) * (K - S) * R] = True
    kept_below = p.keeps[:, None] & (p.rho < 0)
    may[:, :S] |= kept_below
    may |= (p.capacity_min > 0) | np.isfinite(p.capacity_max)
    may[:, v.chosen] = False
    cells = np.flatnonzero(may)
    row = np.full(T * K * R, -1)
    row[cells] = np.arange(len(cells))
    lower, upper = (b.ravel()[cells] for b in (p.capacity_min, p.capacity_max))
    rows = m.add_rows(len(cells), *c.entries(row.reshape(T, K, R)), lower=lower, upper=upper)
    return rows, cells
