"""Stage two: from prices to a placement, in two orders and several rounds."""

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
"""So many times more containers are looked at once most of them are full."""


def by_net_gain(ranking: Ranking, share: Floats, size: Floats) -> Ints:
    """The paper's order: who gains most first."""
    return np.argsort(-ranking.net, kind="stable")


def chosen_ones_first(ranking: Ranking, share: Floats, size: Floats) -> Ints:
    """Those that the relaxation places, in whole numbers, by the largest part of a container that they take; then the
    others by net gain. Better where many are worth just what they cost, as with scarce accelerators.
    """
    large = np.argsort(-size, kind="stable")
    so_far = np.cumsum(share[large])
    chosen = np.zeros(len(share), dtype=bool)
    chosen[large] = np.floor(so_far + 0.5) > np.floor(so_far - share[large] + 0.5)
    return np.lexsort((-np.where(chosen, size, ranking.net), ~chosen))


Order = Callable[[Ranking, Floats, Floats], Ints]
ORDERS: tuple[Order, ...] = (by_net_gain, chosen_ones_first)
"""Both are tried, and the better placement counts."""


def price_of(market: Market, offer: Offer, who: Ints, settings: PriceSettings, start: Floats | None = None) -> Relaxed:
    """Stage one, with prices for groups where asked and where any binds."""
    found = relax_with_groups(market, offer, who) if settings.group_prices else None
    return found or relax(market, offer, who, start)


def rank_at(market: Market, offer: Offer, who: Ints, relaxed: Relaxed) -> Ranking:
    """What objects think of shapes at the relaxation's prices."""
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
    """Place the ranked objects in one order, beside what is placed."""
    tried = state.copy()
    found = order(ranking, relaxed.share, _size(market, ranking.who))
    _place(market, offer, tried, ranking, found, settings.tries)
    return tried


def fill(market: Market, state: State, who: Ints, settings: PriceSettings) -> bool:
    """Price what is left again, and place what fits, by net gain. Whether anything was placed."""
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
    """What the placed objects gain together."""
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
    """(n,) the largest part that an object takes of what the largest container holds of any dimension."""
    whole = np.where(market.bounded, market.capacity, 0.0).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):  # of what no container has any, an object takes an infinite part
        return np.asarray((market.need[who] / np.maximum(whole, 1e-300)).max(axis=1, initial=0.0))
