"""After the rounds: exchanges that gain, and priorities in order."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.price.availability import Offer
from libs.assignment.solvers.price.exchange import exchange
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.ranking import Ranking
from libs.assignment.solvers.price.rounding import fill
from libs.assignment.solvers.price.settings import PriceSettings
from libs.assignment.solvers.price.state import State, rehash

PASSES = 4
"""Over those that are not placed: one that goes lets another one in."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)


def improve(market: Market, offer: Offer, state: State, ranking: Ranking, settings: PriceSettings) -> int:
    """Exchange placed objects for unplaced ones that gain more. How many came in.

    Only those are tried that gain at the prices: the others would pay for room what it is worth to those who have it.

    offer    of containers before anything was placed
    ranking  of all objects that may be placed
    """
    waiting = ranking.only((state.at[ranking.who] < 0) & (ranking.net > 0.0))
    order = np.argsort(-waiting.net, kind="stable")
    return _exchange(market, offer, state, waiting, order, settings, NOBODY, NOBODY, NOBODY)


def raise_shares(market: Market, offer: Offer, state: State, ranking: Ranking, settings: PriceSettings) -> bool:
    """Let objects in, in place of others, until no priority has a smaller share placed than a lower one.

    Whether that was reached: nobody is turned out for nobody, and nothing is left idle for it.
    """
    for _ in range(PASSES):
        members, placed = shares(market, state, ranking)
        if rising(members, placed):
            return True
        waiting = ranking.only((state.at[ranking.who] < 0) & (ranking.net > -np.inf))
        order = np.lexsort((-waiting.net, market.level[waiting.who]))
        came = _exchange(market, offer, state, waiting, order, settings, market.level, placed, members)
        filled = state.copy()
        if fill(market, filled, ranking.who, settings) and rising(*shares(market, filled, ranking)):
            state.take(filled)
        if not came:
            break
    return rising(*shares(market, state, ranking))


def rising(members: Ints, placed: Ints) -> bool:
    """Whether the placed share never falls with rising priority."""
    share = placed[members > 0] / members[members > 0]
    return bool((np.diff(share) >= 0.0).all())


def shares(market: Market, state: State, ranking: Ranking) -> tuple[Ints, Ints]:
    """By level: how many could be placed at all, and how many are. Fixed objects count as they are."""
    able = market.fixed & (market.initial != market.outside)
    able[ranking.who[ranking.net > -np.inf]] = True
    size = int(market.level.max(initial=-1)) + 1
    members = np.bincount(market.level[able], minlength=size)
    placed = np.bincount(market.level[able & (state.at >= 0)], minlength=size)
    return members.astype(np.int64), placed.astype(np.int64)


def _exchange(
    market: Market,
    offer: Offer,
    state: State,
    waiting: Ranking,
    order: Ints,
    settings: PriceSettings,
    level: Ints,
    placed: Ints,
    members: Ints,
) -> int:
    rehash(state)
    return exchange(
        waiting.who[order],
        waiting.rank[order],
        settings.tries,
        len(level) > 0,
        market.need,
        market.worth,
        market.kind,
        market.factor,
        ~market.fixed,
        offer.first,
        offer.listed,
        level,
        placed,
        members,
        state.at,
        state.left,
        state.held,
    )
