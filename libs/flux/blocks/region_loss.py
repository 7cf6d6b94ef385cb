"""Capacity for the loss of a region, as load tests say it is needed."""

from __future__ import annotations

import numpy as np

from libs.domain.fleet import Floats
from libs.flux.capacity_terms import CapacityTerms
from libs.flux.columns import Columns
from libs.flux.problem import JointProblem
from libs.flux.region_loss import Diversion, simulate_losses
from libs.mip.model import Mip


def add_region_loss(m: Mip, v: Columns, p: JointProblem, c: CapacityTerms, expected: Floats) -> None:
    """A load-tested service stays within its utilisation limit when the region is lost that hurts it most.

        sum_k ratio[k] c[t,k,r]  -  sum_p needed[s,p] factor[t,l,p] x[t,p,r]  >=  sum_p needed[s,p] extra[t,l,p]

    for all t, tested s, r, with l the region whose loss decides there. factor, extra and l are those of the expected
    traffic (T, P, R), that of the solve before: how lost traffic spreads is a quotient, and only a simulation knows it.

    needed  (S, P)  capacity for all traffic of a product within the utilisation limit
    Rows: T*R per tested service.  Source: Flux, 4.2; docs/adr/0026.
    """
    tested = np.flatnonzero(p.load.any(1))
    if not len(tested):
        return
    T, _, R, _, S, K = p.shape
    diverted, lost = Diversion.of(expected), simulate_losses(p.load, expected).decides[:, tested]
    cell = np.full((T, S, R), -1)
    cell[:, tested] = np.arange(T * len(tested) * R).reshape(T, len(tested), R)
    step = np.arange(T)[:, None, None]
    factor, extra = diverted.factor[step, lost], diverted.extra[step, lost]  # (T, L, R, P)
    needed = p.load[tested]
    m.add_rows(
        T * len(tested) * R,
        *c.entries(cell[:, p.service], np.broadcast_to(p.ratio[None, :, None], (T, K, R))),
        (cell[:, tested, :, None], v.x.swapaxes(1, 2)[:, None], -needed[None, :, None] * factor),
        lower=np.einsum("lp,tlrp->tlr", needed, extra).ravel(),
    )
