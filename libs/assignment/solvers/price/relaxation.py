"""Find prices from the dual of a relaxation over pools of containers (stage one)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.price.availability import Offer
from libs.assignment.solvers.price.demand import smooth_dual
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.ranking import Ranking, gains_of
from libs.assignment.solvers.prices import Prices

WARMTHS: Sequence[tuple[float, int | None]] = (
    (1.0, 4_000),
    (0.3, 4_000),
    (0.1, 4_000),
    (0.03, 20_000),
    (0.01, 20_000),
    (0.003, None),
)
"""Temperatures of the smoothing, step by step, as shares of an object's average worth. The second number of each is the
sample of objects of the step: None for all.
"""
KNOWN_FROM = 3
"""The first step if earlier prices are known."""
LOST = 0.05
"""Final over- or underselling of a pool, as a share, that shows a wrong start of prices."""
STEPS_MAX, TOLERANCE = 25, 1e-3
"""Newton steps at one temperature, and the allowed overselling of a pool at their end."""
SHORTEST, SHORTER, ENOUGH = 1e-4, 0.3, 1e-4
"""Line search: the shortest step, the factor between steps, and the required share of the promised descent."""
RIDGE, TINY = 1e-6, 1e-12
"""Added to the curvature, relative to the curvature if all objects were undecided: with none undecided it is flat."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxed:
    """Prices, and the values that follow from them.

    price  (P, D)  objective per unit of a dimension
    share  (n,)    placed share of each object in the relaxation
    bound          upper bound of the gain of placing these objects
    steps          evaluations of the dual function, for any number of objects
    group_price  (G, P)  price of one unit of a group in a pool; None: not priced
    """

    price: Floats
    share: Floats
    bound: float
    steps: int
    group_price: Floats | None = None


class Dual:
    """The dual function of some objects and an offer; `rent` as in Offer."""

    def __init__(self, market: Market, offer: Offer, who: Ints, portion: float = 1.0) -> None:
        self.market, self.supply = market, offer.supply * portion
        self.need = market.need[who]
        self.gain = gains_of(market, offer, who, offer.rent)
        self.share = np.zeros(len(who))
        self.steps = 0

    def at(self, price: Floats, warmth: float) -> tuple[float, Floats, Floats]:
        """Return value, slope and curvature."""
        slope, bend = np.zeros(price.size), np.zeros((price.size, price.size))
        self.steps += 1
        value = smooth_dual(self.need, self.gain, self.market.pool, price, self.supply, warmth, slope, bend, self.share)
        return value, slope, bend


def relax(market: Market, offer: Offer, who: Ints, start: Floats | None = None) -> Relaxed:
    """Find prices at which the demand of the objects `who` about equals the supply.

        min_y>=0  sum_pd y[p,d] supply[p,d] + sum_o max(0, max_s gain[o,s] - sum_d y[pool s, d] need[o,d])

    is the dual of placing fractions of objects in pools. It has pools x dimensions variables, for any number of
    objects. A projected Newton method minimises its smoothed version, from warm to cold, on a sample first. `start` has
    earlier prices; if they do not converge, because much has changed, it starts again without them. Source: CvxCluster,
    3.1 and 4.3 (there the primal, by a solver); ADR 0022.
    """
    whole = Dual(market, offer, who)
    best = whole.gain.max(axis=1, initial=0.0)
    price, steps = np.zeros_like(offer.supply), 0
    if price.size and best.any():
        attempts = [(_even(market, offer, who, best), WARMTHS)]
        if start is not None and start.any():
            attempts.insert(0, (start, WARMTHS[KNOWN_FROM:]))
        for begin, warmths in attempts:
            price, off, more = _cool(market, offer, whole, who, begin, float(best.mean()), warmths)
            steps += more
            if off <= LOST:
                break
        whole.at(price, WARMTHS[-1][0] * float(best.mean()))
        price = np.where(offer.supply > 0.0, price, 0.0)
    return Relaxed(price=price, share=whole.share, bound=bound_by(market, offer, who, price), steps=steps)


def _cool(
    market: Market,
    offer: Offer,
    whole: Dual,
    who: Ints,
    price: Floats,
    worth: float,
    warmths: Sequence[tuple[float, int | None]],
) -> tuple[Floats, float, int]:
    """Return prices after cooling, their final overselling, and the number of steps."""
    dual, off, steps = whole, 0.0, 0
    for warmth, sample in warmths:
        size = len(who) if sample is None else min(sample, len(who))
        if size * 2 > len(who):
            dual = whole
        elif len(dual.share) != size:
            drawn = np.sort(np.random.default_rng(0).choice(len(who), size, replace=False))
            dual = Dual(market, offer, who[drawn], size / len(who))
        before = dual.steps
        price, off = descend(dual, price, warmth * worth)
        steps += dual.steps - before
    return price, off, steps


def bound_by(market: Market, offer: Offer, who: Ints, price: Floats) -> float:
    """Return an upper bound of the gain of placing these objects, by weak duality. It holds at any prices."""
    ranking = Ranking(market, offer, who, price, rent=False)
    return float(np.maximum(ranking.net, 0.0).sum() + (price * offer.supply).sum())


def descend(dual: Dual, price: Floats, warmth: float) -> tuple[Floats, float]:
    """Make projected Newton steps with line search. Return prices, and the largest error of a pool's sales, as a share.

    Source: Bertsekas, Nonlinear Programming, 2.4 (two metrics).
    """
    supply = dual.supply.ravel()
    sold = supply > 0.0
    ridge = np.tile(np.maximum(RIDGE * (dual.need**2).sum(axis=0), TINY), len(price))
    value, slope, bend = dual.at(price, warmth)
    for _ in range(STEPS_MAX):
        flat = price.ravel()
        if _off(flat, slope, supply) < TOLERANCE:
            break
        free = np.flatnonzero(sold & ~((flat <= 0.0) & (slope > 0.0)))
        curve = bend[np.ix_(free, free)] + np.diag(ridge[free] / warmth)
        step = np.zeros(len(flat))
        step[free] = -np.linalg.solve(curve, slope[free])
        length, moved = 1.0, False
        while length > SHORTEST:
            to = np.maximum(flat + length * step, 0.0)
            there = dual.at(to.reshape(price.shape), warmth)
            if there[0] <= value + ENOUGH * float(slope @ (to - flat)):
                price, (value, slope, bend), moved = to.reshape(price.shape), there, True
                break
            length *= SHORTER
        if not moved:
            break
    return price, _off(price.ravel(), slope, supply)


def _off(price: Floats, slope: Floats, supply: Floats) -> float:
    """Return the largest share of a pool that is oversold, or unsold at a positive price."""
    sold = supply > 0.0
    gap = np.where(price > 0.0, np.abs(slope), np.maximum(-slope, 0.0))
    return float((gap[sold] / supply[sold]).max(initial=0.0))


def _even(market: Market, offer: Offer, who: Ints, best: Floats) -> Floats:
    """Return start prices: the worth of all objects divided evenly among dimensions, and equal in all pools."""
    supply = offer.supply.sum(axis=0)
    wanted = market.need[who].sum(axis=0)
    even = best.sum() / offer.supply.shape[1] / np.maximum(np.maximum(supply, wanted), 1e-300)
    return np.tile(even, (len(offer.supply), 1))


def prices_of(market: Market, relaxed: Relaxed) -> Prices:
    """Return the prices of a relaxation as callers see them."""
    priced = relaxed.group_price
    return Prices(
        dimensions=market.dimensions,
        shape=market.shape,
        pool=market.pool,
        price=relaxed.price * market.unit,
        groups=() if priced is None else market.groups.name,
        group_price=np.zeros((0, market.pools)) if priced is None else priced * market.unit,
    )
