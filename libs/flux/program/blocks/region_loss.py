"""Capacity that load-tested services need to survive the loss of a region."""

from __future__ import annotations

import numpy as np

from libs.flux.program.capacity_terms import CapacityTerms
from libs.flux.program.columns import Columns
from libs.flux.program.problem import JointProblem
from libs.flux.program.region_loss import EMPTY, Guarded, diverted
from libs.mip.model import Mip


def add_region_loss(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms, guarded: Guarded) -> None:
    """A load-tested service stays within its utilisation limit when another region is lost.

        sum_k ratio[k] c[t,k,r]  >=  n[t,s,r]                               for all t, tested s, r
        n[t,s,r]  >=  sum_p load[s,p] y[t,p,r,l]                            for all guarded t, s, r, l
        y[t,p,r,l]  =  x[t,p,r] whole / (whole - x[t,p,l]),   whole = traffic[t,p]

    y is a quotient of columns. It is linearised about the traffic x0 of the previous solve, where it was y0:

        y  ~  y0 + f (x[t,p,r] - x0[t,p,r]) + f y0 / whole (x[t,p,l] - x0[t,p,l]),   f = whole / (whole - x0[t,p,l])

    load  (S, P)  capacity for all traffic of a product within the utilisation limit
    Rows: T*R per tested service, then one per guarded loss. These come last, so that a later solve can append more.
    Source: Flux, 4.2; docs/adr/0026.
    """
    tested = np.flatnonzero(p.load.any(1))
    if not len(tested):
        return
    T, _, R, _, S, K = p.shape
    cell = np.full((T, S, R), -1)
    cell[:, tested] = np.arange(T * len(tested) * R).reshape(T, len(tested), R)
    n = m.add_columns(T * len(tested) * R)
    ratio = np.broadcast_to(p.ratio[None, :, None], (T, K, R))
    m.add_rows(len(n), *c.entries(cell[:, p.service], ratio), (np.arange(len(n)), n, -1.0), lower=0.0)
    t, s, r, lost = guarded.losses.T
    now, after = guarded.traffic, diverted(guarded.traffic)[t, :, r, lost]  # (N, P), like all arrays below
    here, there, whole = now[t, :, r], now[t, :, lost], p.traffic[t]
    left = np.where(there < whole * (1 - EMPTY), whole - there, whole)
    left = np.where(left > 0, left, 1.0)  # a product without any traffic diverts none
    f, back = whole / left, after / left
    row, load = np.arange(len(t))[:, None], p.load[s]
    m.add_rows(
        len(t),
        (row[:, 0], n[cell[t, s, r]], 1.0),
        (row, v.x[t, :, r], -load * f),
        (row, v.x[t, :, lost], -load * back),
        lower=(load * (after - f * here - back * there)).sum(1),
    )
