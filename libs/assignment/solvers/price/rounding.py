"""Turn prices into a placement. Try two orders of objects, then fill the remaining room in several rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.price.availability import Offer, offer_of
from libs.assignment.solvers.price.greedy import place
from libs.assignment.solvers.price.group_prices import relax_with_groups, toll
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.ranking import Ranking
from libs.assignment.solvers.price.relaxation import Relaxed, relax
from libs.assignment.solvers.price.settings import PriceSettings
from libs.assignment.solvers.price.state import State, rehash, unplaced

LAST_TRIES = 16
"""Factor on the number of containers tried for an object, when the remaining room is filled and most are full."""


def by_net_gain(ranking: Ranking, share: Floats, size: Floats) -> Ints:
    """Return the order of objects by falling net gain, as in the paper (CvxCluster)."""
    return np.argsort(-ranking.net, kind="stable")


def chosen_ones_first(ranking: Ranking, share: Floats, size: Floats) -> Ints:
    """Return an order of objects in which the objects that the relaxation places come first, the largest of them first.

    All other objects follow by falling net gain. This order is better than `by_net_gain` if the worth of many objects
    equals their price, as with scarce accelerators.

    share  (n,) placed share of each object in the relaxation
    size   (n,) the largest share that each object takes of a container
    """
    large = np.argsort(-size, kind="stable")
    so_far = np.cumsum(share[large])
    chosen = np.zeros(len(share), dtype=bool)
    chosen[large] = np.floor(so_far + 0.5) > np.floor(so_far - share[large] + 0.5)
    return np.lexsort((-np.where(chosen, size, ranking.net), ~chosen))


Order = Callable[[Ranking, Floats, Floats], Ints]
ORDERS: tuple[Order, ...] = (by_net_gain, chosen_ones_first)
"""The orders of objects to try. The placement with the larger gain is kept."""


def price_of(market: Market, offer: Offer, who: Ints, settings: PriceSettings, start: Floats | None = None) -> Relaxed:
    """Return the relaxation for the objects `who`. It has prices for groups if `group_prices` is set and a group binds.

    start  prices to start from; None: start from even prices
    """
    found = relax_with_groups(market, offer, who) if settings.group_prices else None
    return found or relax(market, offer, who, start)


def rank_at(market: Market, offer: Offer, who: Ints, relaxed: Relaxed) -> Ranking:
    """Return the ranking of shapes for the objects `who` at the prices of `relaxed`."""
    more = None if relaxed.group_price is None else toll(market, who, relaxed.group_price)
    return Ranking(market, offer, who, relaxed.price, toll=more)


def round_prices(
    market: Market,
    offer: Offer,
    state: State,
    ranking: Ranking,
    relaxed: Relaxed,
    order: Order,
    settings: PriceSettings,
) -> State:
    """Return a copy of `state` in which the ranked objects are placed too, in the order `order`, as far as they fit."""
    tried = state.copy()
    found = order(ranking, relaxed.share, _size(market, ranking.who))
    _place(market, offer, tried, ranking, found, settings.tries)
    return tried


def fill(market: Market, state: State, who: Ints, settings: PriceSettings) -> bool:
    """Price the remaining room again, and place unplaced objects of `who`. Return whether any object was placed."""
    offer = offer_of(market, state, settings.rent)
    rest = who[unplaced(market, state)[who]]
    rest = rest[Ranking(market, offer, rest, np.zeros_like(offer.supply)).net > -np.inf]
    if not len(rest):
        return False
    relaxed = relax(market, offer, rest)
    ranking = rank_at(market, offer, rest, relaxed)
    _place(
        market, offer, state, ranking, by_net_gain(ranking, relaxed.share, relaxed.share), settings.tries * LAST_TRIES
    )
    return bool((state.at[rest] >= 0).any())


def placed_gain(market: Market, state: State) -> float:
    """Return the total gain of all placed objects in `state`."""
    on = np.flatnonzero(state.at >= 0)
    return float(market.gain(on, state.at[on]).sum())


def _place(market: Market, offer: Offer, state: State, ranking: Ranking, order: Ints, tries: int) -> None:
    inverse = np.where(market.bounded & (market.capacity > 0.0), 1.0 / np.maximum(market.capacity, 1e-300), 0.0)
    who, rank = ranking.who[order], ranking.rank[order]
    while len(who):
        done = place(
            who,
            rank,
            tries,
            market.need,
            inverse,
            offer.first,
            offer.listed,
            state.at,
            state.left,
            state.held,
        )
        who, rank = who[done:], rank[done:]
        if len(who):
            rehash(state)


def _size(market: Market, who: Ints) -> Floats:
    """Return the largest share that an object takes of the largest container in any dimension, (n,)."""
    whole = np.where(market.bounded, market.capacity, 0.0).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):  # if no container has a dimension, the share is infinite
        return np.asarray((market.need[who] / np.maximum(whole, 1e-300)).max(axis=1, initial=0.0))
