"""Compute the additional cost of whole objects over the relaxation, per container."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.containers_of import Shares
from libs.assignment.solvers.portfolio.relaxation import Relaxation
from libs.mip.model import Model


class Excess:
    """The excess of each container: its cost less its cost in the relaxation, both net of the prices of its objects.

    Assume that only the supply of objects couples containers. Then the gap between whole counts and the bound is the
    sum of the excesses of all containers (Lagrangian relaxation of supply).

    least  (containers,) cost of each container in the relaxation, net of the prices of its objects
    """

    def __init__(self, lowered: Lowered, model: Model, shares: Shares, relaxation: Relaxation) -> None:
        self.lowered, self.model, self.shares, self.relaxation = lowered, model, shares, relaxation
        self.least = np.zeros(len(lowered.problem.containers))
        if relaxation.fractional is not None or relaxation.raw is not None:
            self.least = self._paid(_relaxed(lowered, relaxation))

    def at(self, x: Floats) -> Floats:
        """Return the excess of each container at the point `x` (C,), (containers,). The sink has excess 0."""
        excess = np.maximum(self._paid(x) - self.least, 0.0)
        if self.shares.sink >= 0:
            excess[self.shares.sink] = 0.0
        return excess

    def open(self, x: Floats) -> Bools:
        """Return for each count whether more objects in it could save cost at the point `x` (C,), (Q,).

        A reduced cost above the excess of the count's container rules the count out.
        """
        return np.asarray(self.relaxation.reduced <= self.at(x)[self.lowered.container])

    def _paid(self, x: Floats) -> Floats:
        lowered = self.lowered
        worth = -self.relaxation.price[lowered.kind] * x[: len(lowered.kind)]
        paid = self.shares.costs(self.model.cost, x)
        return np.asarray(paid + np.bincount(lowered.container, worth, len(paid)), dtype=np.float64)


def _relaxed(lowered: Lowered, relaxation: Relaxation) -> Floats:
    """Return the point (C,) of a relaxation that has one.

    It is the point as the solver found it, if that is known. A relaxation pays for a part of a step, and by definition
    a fraction of an object makes a whole step: then no container would seem to cost more than it must. A relaxation
    also pays for cuts, and by definition a fraction of an object does not.
    """
    if relaxation.raw is not None:
        return relaxation.raw
    assert relaxation.fractional is not None
    return lowered.point_of(relaxation.fractional)
