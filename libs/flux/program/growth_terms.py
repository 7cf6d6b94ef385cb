"""Growth as a linear expression of columns: expression 13 with the worldwide size of each service known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats
from libs.flux.program.capacity_terms import CapacityTerms, Entry
from libs.flux.program.columns import Columns
from libs.flux.program.problem import JointProblem
from libs.mip.model import Indices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrowthTerms:
    """Inorganic growth as a sum of columns.

        g[t,k,r]  =  (gamma[t,s] - less[t,s]) / total[t,s] c[t,k,r]
                     -  share[t,k,r] / ratio[k] (withheld[t,s] - less[t,s])                        for k of s

    gamma     (T, S)     growth asked for, in units of the service's own type
    withheld  (T, S)     growth not granted; a column if the growth may be withheld
    total     (T, S)     the service's capacity worldwide
    share     (T, K, R)  the placement's part of its service's capacity, in the previous solve
    less      (T, S)     growth withheld in the previous solve; all of gamma if there is no capacity to grow in
                         proportion to, so that `share` decides

    Expression 13 is bilinear. `total` is known before the plan is: expression 12 fixes all traffic, thus also the
    capacity for it, and residuals are as small as allowed. So the expression is linear if growth is granted in full. If
    not, the product of capacity and granted growth is linearised about `less`.

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
        """Growth per unit of capacity, (T, K)."""
        granted = self.p.growth - self.less
        rate = np.divide(granted, self.total, out=np.zeros_like(granted), where=self.total > 0)
        return np.asarray(rate[:, self.p.service])

    @property
    def constant(self) -> Floats:
        """Constant part of the growth, (T, K, R): no column changes it."""
        return np.asarray(self.less[:, self.p.service, None] * self.share / self.p.ratio[:, None])

    def entries(self, row: Indices) -> list[Entry]:
        """Return entries that add g[t,k,r] - constant[t,k,r] to row[t,k,r] (T, K, R)."""
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
        """Return the (T, K, R) growth of the program at a point."""
        less = self.share * withheld[:, self.p.service, None] / self.p.ratio[:, None]
        return np.asarray(self.factor[:, :, None] * capacity + self.constant - less)
