"""Give prices to callers: for showback, for admission, and as the start of the next solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prices:
    """The prices of a relaxation: the gain of one more unit of a dimension, in the units of the objective.

    A shape is a set of containers that differ only in free room. A pool is a set of shapes with the same prices.

    dimensions   (D,) str      the names of the dimensions
    shape        (C,) int      the shape of each container; -1: no object may go there
    pool         (S,) int      the pool of each shape
    price        (P, D) float  the price of one unit of each dimension in each pool
    groups       (G,) str      the names of the groups whose limits (anti-affinity) have prices
    group_price  (G, P) float  the price of one unit of each group in each pool; 0 if the limit does not bind
    """

    dimensions: tuple[str, ...]
    shape: Ints
    pool: Ints
    price: Floats
    groups: tuple[str, ...] = ()
    group_price: Floats

    def of_container(self, container: int) -> dict[str, float]:
        """Return the prices of a container by dimension; empty if it is closed."""
        shape = int(self.shape[container])
        if shape < 0:
            return {}
        return dict(zip(self.dimensions, self.price[self.pool[shape]].tolist(), strict=True))

    def cost(self, values: Floats, containers: Ints) -> Floats:
        """Return the payment of objects with demand `values` (n, D) in their given containers, (n,); 0 in closed
        ones.
        """
        shape = self.shape[containers]
        paid = (self.price[self.pool[shape]] * values).sum(axis=1)
        return np.asarray(np.where(shape >= 0, paid, 0.0))
