"""The fewest servers that could keep all promises: a linear bound."""

from __future__ import annotations

import numpy as np

from libs.domain.arrays import Floats, Ints
from libs.mip.highs import solve_lp
from libs.mip.model import Mip
from soak.promise.watch import Promises


def fewest_servers(promises: Promises, supply: Ints) -> float:
    """Return a lower bound on the servers that R reservations need.

    supply   (M, T) servers of each type in each MSB that are up

    min  sum_rmt x[r,m,t]
    such that  sum_mt V[r,t] x[r,m,t] - z[r] >= C[r],  z[r] >= sum_t V[r,t] x[r,m,t] for each m where r is to survive
    the loss of an MSB,  sum_r x[r,m,t] <= supply[m,t],  x >= 0,  z >= 0.
    """
    m, t = supply.shape
    r = len(promises.name)
    mip = Mip()
    upper = np.where(promises.rru[:, None, :] > 0, supply[None, :, :], 0)
    x = mip.add_columns(r * m * t, cost=1.0, upper=upper.ravel().astype(float)).reshape(r, m, t)
    z = mip.add_columns(r, upper=np.where(promises.survives, np.inf, 0.0))
    worth: Floats = np.broadcast_to(promises.rru[:, None, :], (r, m, t))
    rows = np.broadcast_to(np.arange(r)[:, None, None], (r, m, t))
    mip.add_rows(r, (rows, x, worth), (np.arange(r), z, -1.0), lower=promises.capacity_rru)
    who = np.flatnonzero(promises.survives)
    place = np.arange(len(who) * m).reshape(len(who), m)
    mip.add_rows(len(who) * m, (place[:, :, None], x[who], -worth[who]), (place, z[who][:, None], 1.0), lower=0.0)
    pool = np.arange(m * t).reshape(m, t)
    mip.add_rows(m * t, (np.broadcast_to(pool, (r, m, t)), x, 1.0), upper=supply.ravel().astype(float))
    return solve_lp(mip.build()).bound
