"""Rank for each object the shapes of containers by net gain: the gain of the object there less its payments."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.solvers.price.availability import Offer
from libs.assignment.solvers.price.demand import gains_by_shape, rank_shapes
from libs.assignment.solvers.price.market import Market

WIDTH_MAX = 32
"""Most shapes that are tried for one object."""


class Ranking:
    """The ranked shapes of the objects `who` at the price `price` (P, D); see rank_shapes.

    rent  whether objects pay the rents of the offer
    toll  (n, S)  further payments of each object in each shape, such as those for its groups
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
        """Return the ranking of the objects with a true entry in `some` (n,)."""
        found = object.__new__(Ranking)
        found.who, found.rank = self.who[some], self.rank[some]
        found.net, found.paid = self.net[some], self.paid[some]
        return found


def gains_of(market: Market, offer: Offer, who: Ints, rent: Floats) -> Floats:
    """Return the gain of each object of `who` in each shape, (n, S), less `rent` (S, D); see gains_by_shape."""
    gain = np.empty((len(who), market.shapes))
    gains_by_shape(
        market.need[who], market.worth[who], market.kind[who], market.factor, market.open, offer.most, rent, gain
    )
    return gain
