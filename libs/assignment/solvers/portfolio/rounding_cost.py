"""Compute the additional cost of whole objects over the relaxation, per container."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.mip.model import Model


class Excess:
    """The excess of each container's cost over its cost in the relaxation.

    Assume that classes couple containers only through the prices of objects. Then the gap between whole counts and the
    bound is the sum of these excesses (Lagrangian relaxation of supply).

    least  (containers,) cost of each in the relaxation, with its objects at their prices
    """

    def __init__(self, lowered: Lowered, model: Model, shares: Shares, relaxation: Relaxation) -> None:
        self.lowered, self.model, self.shares, self.relaxation = lowered, model, shares, relaxation
        self.least = np.zeros(len(lowered.problem.containers))
        if relaxation.fractional is not None:
            self.least = self._paid(lowered.point_of(relaxation.fractional))

    def at(self, x: Floats) -> Floats:
        """Return the excess at a point (C,), (containers,); 0 for the sink."""
        excess = np.maximum(self._paid(x) - self.least, 0.0)
        if self.shares.sink >= 0:
            excess[self.shares.sink] = 0.0
        return excess

    def open(self, x: Floats) -> Bools:
        """Return the counts that could be useful, (Q,). A reduced cost above its container's excess rules a count
        out.
        """
        return np.asarray(self.relaxation.reduced <= self.at(x)[self.lowered.container])

    def _paid(self, x: Floats) -> Floats:
        lowered = self.lowered
        worth = -self.relaxation.price[lowered.kind] * x[: len(lowered.kind)]
        paid = self.shares.costs(self.model.cost, x)
        return np.asarray(paid + np.bincount(lowered.container, worth, len(paid)), dtype=np.float64)
