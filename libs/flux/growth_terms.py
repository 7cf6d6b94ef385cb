"""Growth as a linear expression of columns: expression 13 where the size of a service worldwide is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats
from libs.flux.capacity_terms import CapacityTerms, Entry
from libs.flux.columns import Columns
from libs.flux.problem import JointProblem
from libs.mip.model import Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrowthTerms:
    """What inorganic growth is made of.

        g[t,k,r]  =  (gamma[t,s] - less[t,s]) / total[t,s] c[t,k,r]
                     -  share[t,k,r] / ratio[k] (withheld[t,s] - less[t,s])                        for k of s

    gamma     (T, S)     growth asked for, in units of the service's own type
    withheld  (T, S)     growth not granted, a column where it may give way
    total     (T, S)     the service's capacity worldwide. Expression 12 fixes all traffic and with it what is needed
                         for it, and residuals are as small as they may be: so it is known before a plan is, and
                         expression 13, bilinear as it stands, is linear where growth is granted in full
    share     (T, K, R)  part of the service's capacity there, in the solve before
    less      (T, S)     withheld in the solve before: the product of capacity and what is granted is linear about it.
                         All of gamma where there is no capacity to grow in proportion to, so that `share` decides

    Source: Flux, expression 13; docs/designs/0009.
    """

    c: CapacityTerms
    v: Columns
    p: JointProblem
    total: Floats
    share: Floats
    less: Floats

    @property
    def factor(self) -> Floats:
        """(T, K) growth per unit of capacity."""
        granted = self.p.growth - self.less
        rate = np.divide(granted, self.total, out=np.zeros_like(granted), where=self.total > 0)
        return np.asarray(rate[:, self.p.service])

    @property
    def constant(self) -> Floats:
        """(T, K, R) what no column changes."""
        return np.asarray(self.less[:, self.p.service, None] * self.share / self.p.ratio[:, None])

    def entries(self, row: Indices) -> list[Entry]:
        """Entries that put g[t,k,r] - constant[t,k,r] into row[t,k,r] (T, K, R)."""
        p, v = self.p, self.v
        factor = self.factor[:, :, None]
        step, service = np.divmod(v.withheld_of, len(p.phi))
        of, placement = np.nonzero(service[:, None] == p.service[None])
        where = step[of], placement
        part = -self.share[where] / p.ratio[placement][:, None]
        into, column = row[where], np.broadcast_to(v.withheld[of][:, None], part.shape)
        return [
            *self.c.entries(np.where(factor > 0, row, -1), factor),
            (into.ravel(), column.ravel(), part.ravel()),
        ]

    def at(self, capacity: Floats, withheld: Floats) -> Floats:
        """(T, K, R) the growth that the program counts with at a point."""
        less = self.share * withheld[:, self.p.service, None] / self.p.ratio[:, None]
        return np.asarray(self.factor[:, :, None] * capacity + self.constant - less)
