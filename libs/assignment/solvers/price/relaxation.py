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
"""Steps of the smoothing, from warm to cold. Each step has a temperature and a number of objects.

The temperature is a share of the average worth of an object. The step uses a sample of that many objects; None: all.
"""
KNOWN_FROM = 3
"""Index of the first step in WARMTHS if earlier prices are known."""
LOST = 0.05
"""Share of a pool that may be oversold or unsold at the end. A larger share shows that the start prices were wrong."""
STEPS_MAX, TOLERANCE = 25, 1e-3
"""Most Newton steps at one temperature, and the share of a pool that may be oversold or unsold after them."""
SHORTEST, SHORTER, ENOUGH = 1e-4, 0.3, 1e-4
"""Line search: the shortest step, the factor between steps, and the required share of the promised descent."""
RIDGE, TINY = 1e-6, 1e-12
"""RIDGE is added to the curvature, as a share of the curvature with all objects undecided. TINY is the least to add.

An object is undecided if it is indifferent between two places. Without such objects the function is flat.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relaxed:
    """The result of a relaxation: prices, and the values that follow from them.

    price        (P, D)  price of one unit of a dimension in a pool, in the unit of the objective
    share        (n,)    placed share of each object in the relaxation
    bound        float   upper bound of the gain of placing the objects
    steps        int     number of evaluations of the dual function
    group_price  (G, P)  price of one unit of a group in a pool; None: groups have no prices
    """

    price: Floats
    share: Floats
    bound: float
    steps: int
    group_price: Floats | None = None


class Dual:
    """The dual function of the relaxation for the objects `who`.

    portion  the share of the supply that counts, if `who` is a sample of the objects
    """

    def __init__(self, market: Market, offer: Offer, who: Ints, portion: float = 1.0) -> None:
        self.market, self.supply = market, offer.supply * portion
        self.need = market.need[who]
        self.gain = gains_of(market, offer, who, offer.rent)
        self.share = np.zeros(len(who))
        self.steps = 0

    def at(self, price: Floats, warmth: float) -> tuple[float, Floats, Floats]:
        """Return the value of the smoothed dual function at `price` (P, D), its gradient, and its Hessian matrix.

        warmth  the temperature of the smoothing, in the unit of the objective
        """
        slope, bend = np.zeros(price.size), np.zeros((price.size, price.size))
        self.steps += 1
        value = smooth_dual(self.need, self.gain, self.market.pool, price, self.supply, warmth, slope, bend, self.share)
        return value, slope, bend


def relax(market: Market, offer: Offer, who: Ints, start: Floats | None = None) -> Relaxed:
    """Find prices at which the demand of the objects `who` about equals the supply.

        min_y>=0  sum_pd y[p,d] supply[p,d] + sum_o max(0, max_s gain[o,s] - sum_d y[pool s, d] need[o,d])

    is the dual of placing fractions of objects in pools. The dual has pools x dimensions variables, for any number of
    objects. A projected Newton method minimises a smoothed dual, from warm to cold, first on a sample of the objects.
    Source: CvxCluster, 3.1 and 4.3 (there the primal, by a solver); ADR 0022.

    start  (P, D) prices to start from; None: even prices. If the descent from `start` does not converge, because much
           has changed since, the function starts again from even prices
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
    """Lower the temperature step by step through `warmths`, and find prices at each temperature.

    Return the last prices, the largest share of a pool that is then oversold or unsold, and the number of evaluations.
    """
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
    """Return an upper bound of the gain of placing the objects `who`. By weak duality it holds at any prices."""
    ranking = Ranking(market, offer, who, price, rent=False)
    return float(np.maximum(ranking.net, 0.0).sum() + (price * offer.supply).sum())


def descend(dual: Dual, price: Floats, warmth: float) -> tuple[Floats, float]:
    """Make projected Newton steps with line search from `price`, at the temperature `warmth`.

    Return the new prices, and the largest share of a pool that is then oversold or unsold.

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
    """Return prices to start from, (P, D): the worth of all objects, divided evenly among dimensions.

    All pools have the same prices.
    """
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
