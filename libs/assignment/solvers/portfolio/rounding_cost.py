"""How much more a container pays in whole objects than in the relaxation."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.mip.model import Model


class Excess:
    """Classes couple containers only through the prices of objects, so where nothing else does, the gap of whole counts
    to the bound is the sum of these (Lagrangian relaxation of supply).

    least  (containers,) what each pays in the relaxation: its costs, and its objects at their prices
    """

    def __init__(self, lowered: Lowered, model: Model, shares: Shares, relaxation: Relaxation) -> None:
        self.lowered, self.model, self.shares, self.relaxation = lowered, model, shares, relaxation
        self.least = np.zeros(len(lowered.problem.containers))
        if relaxation.fractional is not None:
            self.least = self._paid(lowered.point_of(relaxation.fractional))

    def at(self, x: Floats) -> Floats:
        """(containers,) at a point (C,); 0 of the sink."""
        excess = np.maximum(self._paid(x) - self.least, 0.0)
        if self.shares.sink >= 0:
            excess[self.shares.sink] = 0.0
        return excess

    def open(self, x: Floats) -> Bools:
        """(Q,) the counts that could be of use: one whose reduced cost is above its container's excess cannot."""
        return np.asarray(self.relaxation.reduced <= self.at(x)[self.lowered.container])

    def _paid(self, x: Floats) -> Floats:
        lowered = self.lowered
        worth = -self.relaxation.price[lowered.kind] * x[: len(lowered.kind)]
        paid = self.shares.costs(self.model.cost, x)
        return np.asarray(paid + np.bincount(lowered.container, worth, len(paid)), dtype=np.float64)
