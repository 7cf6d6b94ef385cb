"""Bound the last of several levels from the relaxation of their sum.

A level is the objective of one priority. The relaxation allows fractions of objects.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.mip.bound import bound_from_prices, reduced_costs, usable_prices
from libs.mip.model import Model

HALVINGS = 30
"""Number of bisections in the search for the share s that gives the best bound."""


class BoundOfLast:
    """Lower bounds on the objective `last` among all points at which the objective `above` is at most `most`.

    The bounds follow from the row prices of the relaxation of `last` + `above`:

        max_{0 <= s <= 1}  min_{lower <= x <= upper}  (last + s above - A' price) . x  +  price . rows  -  s most

    By weak duality the bound holds for every share s and for all prices. The prices are optimal for s = 1. For s = 1
    the bound equals the bound of the sum less `most`. That bound is weak if the relaxation has `above` far below
    `most`. But then few prices depend on `above`, and all other prices still fit a small s. The bound is concave in s,
    so bisection finds the best s.
    """

    def __init__(self, *, last: Model, above: Model, price: Floats) -> None:
        """Prepare the bounds.

        last, above  two models with the same columns and rows that differ only in their objective
        price        (N,)  a price for each row, from the relaxation of the sum of both objectives
        """
        paid = above.cost != 0
        price = usable_prices(last, price)
        unpaid = replace(last, lower=np.where(paid, 0.0, last.lower), upper=np.where(paid, 0.0, last.upper))
        self.price = price
        self._last, self._above = last, above
        self._rest = bound_from_prices(unpaid, price)
        self._reduced, self._cost = reduced_costs(last, price)[paid], above.cost[paid]
        self._lower, self._upper, self._offset = last.lower[paid], last.upper[paid], above.offset

    def at(self, most: float) -> float:
        """Return the lower bound of `last` among the points at which `above` is at most `most`."""
        return self._side(self.share(most), most)[0]

    def share(self, most: float) -> float:
        """Return the share s that gives the best bound among the points at which `above` is at most `most`."""
        best, least, low, high = 1.0, self._side(1.0, most)[0], 0.0, 1.0
        for _ in range(HALVINGS):
            share = (low + high) / 2.0
            value, slope = self._side(share, most)
            if value > least:
                best, least = share, value
            low, high = (share, high) if slope > 0 else (low, share)
        return best

    def summed(self, share: float) -> Model:
        """Return the model with the objective last + share above. Its bound at `price`, less share most, bounds `last`
        among the points at which `above` is at most `most`.
        """
        last, above = self._last, self._above
        return replace(last, cost=last.cost + share * above.cost, offset=last.offset + share * above.offset)

    def _side(self, share: float, most: float) -> tuple[float, float]:
        """Return the bound for the share `share`, and the derivative of the bound by the share."""
        reduced = self._reduced + share * self._cost
        x = np.where(reduced > 0, self._lower, self._upper)
        slope = float((self._cost * x).sum()) + self._offset - most
        return self._rest + float((self._reduced * x).sum()) + share * slope, slope
