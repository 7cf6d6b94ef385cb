"""Solve a relaxation with limits of groups (anti-affinity), as a linear program over pools of containers.

It is for groups whose limits bind even if all containers of a pool count as one.
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.price.availability import Offer
from libs.assignment.solvers.price.market import Market
from libs.assignment.solvers.price.ranking import gains_of
from libs.assignment.solvers.price.relaxation import Relaxed
from libs.mip.highs import solve_lp
from libs.mip.model import Mip


def relax_with_groups(market: Market, offer: Offer, who: Ints) -> Relaxed | None:
    """Return prices for dimensions and for groups; None if no group binds. Then the dual in relaxation.py is faster.

        max  sum_os gain[o,s] x[o,s]
        sum_s x[o,s]                         <= 1                              for all o        objects
        sum_{o, s in p} need[o,d] x[o,s]     <= supply[p,d]                    for all p, d     pools x dimensions
        sum_{o in g, s in p} amount[o] x[o,s] <= limit[g] * items of p         for g, p if that can bind

    The items of pool p for group g are the scope items, by the rule of g, with a container in p. Source: CvxCluster,
    3.3, expression 4 summed over a shape's servers.
    """
    items = _items(market)
    group, pool = _binding(market, who, items)
    if not len(group):
        return None
    gain = gains_of(market, offer, who, offer.rent)
    o, s = np.nonzero(gain > -np.inf)
    dimensions, groups = len(market.dimensions), market.groups
    m = Mip()
    x = m.add_columns(len(o), cost=-gain[o, s], upper=1.0)
    m.add_rows(len(who), (o, x, 1.0), upper=1.0)
    place = market.pool[s] * dimensions
    entries = [(place + d, x, market.need[who[o], d]) for d in range(dimensions)]
    supply = m.add_rows(offer.supply.size, *entries, upper=offer.supply.ravel())
    row_of = np.full((len(groups.limit), market.pools), -1)
    row_of[group, pool] = np.arange(len(group))
    column, entry = _entries(groups.start, who[o])
    row = row_of[groups.group[entry], market.pool[s[column]]]
    inside = row >= 0
    limit = groups.limit[group] * items[groups.rule[group], pool]
    binds = m.add_rows(len(group), (row[inside], x[column[inside]], groups.amount[entry[inside]]), upper=limit)
    found = solve_lp(m.build())
    assert found.price is not None
    assert found.x is not None
    share = np.minimum(np.bincount(o, weights=found.x, minlength=len(who)).astype(np.float64), 1.0)
    group_price = np.zeros((len(groups.limit), market.pools))
    group_price[group, pool] = np.maximum(-found.price[binds], 0.0)
    price = np.maximum(-found.price[supply], 0.0).reshape(offer.supply.shape)
    return Relaxed(price=price, share=share, bound=-found.bound, steps=0, group_price=group_price)


def toll(market: Market, who: Ints, group_price: Floats) -> Floats:
    """Return the payment of each object for its groups in each shape, (n, S), at the prices `group_price` (G, P)."""
    groups = market.groups
    column, entry = _entries(groups.start, who)
    found = np.zeros((len(who), market.shapes))
    paid = group_price[groups.group[entry]][:, market.pool] * groups.amount[entry, None]
    np.add.at(found, column, paid)
    return found


def _entries(start: Ints, objects: Ints) -> tuple[Ints, Ints]:
    """Return all entries of `objects`: for each entry the position of its object in `objects`, and its own number.

    start  (N + 1,) the entries of object o are start[o] to start[o + 1] - 1
    """
    count = start[objects + 1] - start[objects]
    position = np.repeat(np.arange(len(objects)), count)
    within = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
    return position, start[objects][position] + within


def _items(market: Market) -> Ints:
    """Return for each rule and pool the number of scope items of the rule with a container in the pool, (R, P).

    If the rule has no limit in some container of the pool, the number is N, the number of objects.
    """
    found = np.zeros((len(market.groups.item), market.pools), dtype=np.int64)
    inside = np.flatnonzero(market.shape >= 0)
    pool = market.pool[market.shape[inside]]
    for rule, item in enumerate(market.groups.item):
        known = item[inside] >= 0
        pairs = np.unique(np.stack([pool[known], item[inside][known]]), axis=1)
        found[rule] = np.bincount(pairs[0], minlength=market.pools)
        found[rule, np.unique(pool[~known])] = len(market.need)
    return found


def _binding(market: Market, who: Ints, items: Ints) -> tuple[Ints, Ints]:
    """Return the pairs of group and pool whose limit the objects `who` would exceed if all of them were in the pool.

    items  (R, P) the number of scope items of each rule in each pool
    """
    groups = market.groups
    _, entry = _entries(groups.start, who)
    total = np.bincount(groups.group[entry], weights=groups.amount[entry], minlength=len(groups.limit))
    group, pool = np.nonzero(total[:, None] > groups.limit[:, None] * items[groups.rule])
    return group, pool
