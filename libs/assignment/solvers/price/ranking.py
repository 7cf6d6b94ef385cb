"""Rank shapes for objects."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.availability import Offer
from libs.assignment.solvers.price.demand import gains_by_shape, rank_shapes
from libs.assignment.solvers.price.market import Market

WIDTH_MAX = 32
"""Shapes to try for an object."""


class Ranking:
    """The ranked shapes of the objects `who` at a price (P, D); see rank_shapes.

    toll  (n, S)  further payments
    """

    def __init__(
        self, market: Market, offer: Offer, who: Ints, price: Floats, *, rent: bool = True, toll: Floats | None = None
    ) -> None:
        self.who = who
        self.rank = np.full((len(who), min(market.shapes, WIDTH_MAX)), -1, dtype=np.int64)
        self.net, self.paid = np.full(len(who), -np.inf), np.zeros(len(who))
        gain = gains_of(market, offer, who, offer.rent if rent else np.zeros_like(offer.rent))
        if toll is not None:
            gain -= toll
        if not self.rank.size:
            return
        rank_shapes(market.need[who], gain, market.pool, price, self.rank, self.net, self.paid)

    def only(self, some: Bools) -> Ranking:
        """Return the ranking of some of the objects."""
        found = object.__new__(Ranking)
        found.who, found.rank = self.who[some], self.rank[some]
        found.net, found.paid = self.net[some], self.paid[some]
        return found


def gains_of(market: Market, offer: Offer, who: Ints, rent: Floats) -> Floats:
    """Return the gains, (n, S); see gains_by_shape."""
    gain = np.empty((len(who), market.shapes))
    gains_by_shape(
        market.need[who], market.worth[who], market.kind[who], market.factor, market.open, offer.most, rent, gain
    )
    return gain
