"""Expressions 6, 9 and 10: capacity follows traffic, but for the residual."""

from __future__ import annotations

import numpy as np

from libs.flux.columns import Columns
from libs.flux.problem import JointProblem
from libs.mip.model import Indices, Mip


def add_attribution(m: Mip, v: Columns, p: JointProblem) -> Indices:
    """A service has in a region what its traffic there needs, and its residual.

        sum_k ratio[k] c[t,k,r]  -  sum_p phi[s,p] x[t,p,r]  -  r_up[t,s,r] + r_down[t,s,r]  =  0     for all t, s, r

    c      (T, K, R)  capacity of a placement k of s, in units of its type
    phi    (S, P)     capacity for all traffic of a product of today, in units of the service's own type
    r_up - r_down  (T, S, R)  residual, bounded by expression 10
    Rows: T*S*R.  Source: Flux, expressions 9, 10 and 6; the equality is the reading of the interchange format.
    """
    T, _, R, _, S, _ = p.shape
    cell = np.arange(T * S * R).reshape(T, S, R)
    service, product = np.nonzero(p.phi)
    return m.add_rows(
        T * S * R,
        (cell[:, p.service], v.c, p.ratio[None, :, None]),
        (cell[:, service], v.x[:, product], -p.phi[service, product][None, :, None]),
        (cell, v.r_up, -1.0),
        (v.r_down_cell, v.r_down, 1.0),
        lower=0.0,
        upper=0.0,
    ).reshape(T, S, R)


def add_granted_baseline(m: Mip, v: Columns, p: JointProblem) -> Indices:
    """What a service was granted worldwide is not taken away.

        sum_{k of s, r} ratio[k] c[t,k,r]  >=  sum_r kappa[s,r]     for all t, s

    Rows: T*S.  Source: Flux, 3.3, optimisation constraints.
    """
    T, _, _, _, S, _ = p.shape
    cell = np.arange(T * S).reshape(T, S)
    entries = (cell[:, p.service][:, :, None], v.c, p.ratio[None, :, None])
    return m.add_rows(T * S, entries, lower=p.total_min.ravel()).reshape(T, S)
