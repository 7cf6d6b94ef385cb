"""Improve after the rounds: make exchanges that gain, and put priorities in order."""

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
"""Most passes over unplaced objects. A second pass is useful, because an object that leaves makes room for others."""
NOBODY: Ints = np.zeros(0, dtype=np.int64)


def improve(market: Market, offer: Offer, state: State, ranking: Ranking, settings: PriceSettings) -> int:
    """Replace placed objects by unplaced objects with a larger gain. Return the number of objects that were placed.

    Only unplaced objects with a positive net gain at the prices are tried. The room that any other object needs is
    worth more to the placed objects.

    offer    the offer before any placement
    ranking  the ranking of all objects that may be placed
    """
    waiting = ranking.only((state.at[ranking.who] < 0) & (ranking.net > 0.0))
    order = np.argsort(-waiting.net, kind="stable")
    return _exchange(market, offer, state, waiting, order, settings, NOBODY, NOBODY, NOBODY)


def raise_shares(market: Market, offer: Offer, state: State, ranking: Ranking, settings: PriceSettings) -> bool:
    """Replace placed objects until no priority has a smaller placed share than a lower priority.

    Return whether that was reached. An object leaves only if an unplaced object takes its room. The remaining room is
    filled if that keeps the order of shares.
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
    """Return whether the placed share, `placed` / `members`, never falls from a priority to the next higher one."""
    share = placed[members > 0] / members[members > 0]
    return bool((np.diff(share) >= 0.0).all())


def shares(market: Market, state: State, ranking: Ranking) -> tuple[Ints, Ints]:
    """Return for each priority the number of objects that could be placed, and the number of objects that are placed.

    A fixed object in its container counts in both numbers.
    """
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
