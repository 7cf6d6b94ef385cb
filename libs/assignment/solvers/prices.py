"""Prices as callers see them: for showback, for admission, as a start of the next round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """What one more unit of a dimension would gain in the relaxation, in the objective's own units.

    dimensions   (D,) str      names
    shape        (C,) int      the shape of each container; -1: nothing is placed there
    pool         (S,) int      the pool of each shape
    price        (P, D) float  objective per unit
    groups       (G,) str      names of the groups whose anti-affinity was priced
    group_price  (G, P) float  objective per unit of a group in a pool; all 0 where it does not bind
    """

    dimensions: tuple[str, ...]
    shape: Ints
    pool: Ints
    price: Floats
    groups: tuple[str, ...] = ()
    group_price: Floats

    def of_container(self, container: int) -> dict[str, float]:
        """By dimension; empty where nothing is placed."""
        shape = int(self.shape[container])
        if shape < 0:
            return {}
        return dict(zip(self.dimensions, self.price[self.pool[shape]].tolist(), strict=True))

    def cost(self, values: Floats, containers: Ints) -> Floats:
        """(n,) what objects that take `values` (n, D) pay in the containers given for them; 0 where none are placed."""
        shape = self.shape[containers]
        paid = (self.price[self.pool[shape]] * values).sum(axis=1)
        return np.asarray(np.where(shape >= 0, paid, 0.0))
