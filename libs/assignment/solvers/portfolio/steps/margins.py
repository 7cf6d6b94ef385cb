"""Keep the margins of each count, and the cheapest step of each class.

A count is the number of objects of one class in one container. The margins of a count are the cost of one more object
and the cost of one less object in it. A step moves one object of a class from one count, the giver, to another count,
the taker. A tournament is a binary tree whose leaves are the counts of a class. In each inner place stands the cheaper
count of the two below.
"""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, compiled, part
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.portfolio.steps.change import rank, try_one
from libs.assignment.solvers.portfolio.steps.network import MOST, Network
from libs.assignment.solvers.portfolio.steps.state import State, borrow_network, borrow_state


@compiled
def measure(n: Network, s: State) -> None:
    """Compute all margins."""
    n, s = borrow_network(n), borrow_state(s)
    for e in range(n.elements):
        if n.function[e] == MOST and n.first[e] == e:
            rank(n, s, e)
    for container in range(n.containers):
        refresh(n, s, container)


@callee
def refresh(n: Network, s: State, container: int) -> None:
    """Update the margins of a container's counts, and the best steps of their classes."""
    s.waiting[container] = 1
    for group in range(n.groups_at[container], n.groups_at[container + 1]):
        one_more = one_less = math.nan
        for at in range(n.group_at[group], n.group_at[group + 1]):
            q = n.of_group[at]
            more = less = math.inf
            if s.value[q] < n.most[q] - 0.5:
                if math.isnan(one_more):
                    one_more = try_one(n, s, q, 1.0)
                more = one_more
            if s.value[q] > n.least[q] + 0.5:
                if math.isnan(one_less):
                    one_less = try_one(n, s, q, -1.0)
                less = one_less
            if more != s.more[q] or less != s.less[q]:  # else the tournaments, which take longer, stay the same
                s.more[q], s.less[q] = more, less
                enter(n, s, q)


@callee
def enter(n: Network, s: State, q: int) -> None:
    """Update the tournaments and the cheapest step of a class after the margins of its count `q` have changed.

    The giver and the taker of a step must differ. If one count is both the cheapest giver and the cheapest taker, the
    step uses the second cheapest giver or the second cheapest taker.
    """
    kind = n.kind[q]
    first = 2 * n.kinds_at[kind]
    count = n.kinds_at[kind + 1] - n.kinds_at[kind]
    lift(s.givers, first, s.less, count + n.place[q], q)
    lift(s.takers, first, s.more, count + n.place[q], q)
    giver, taker = s.givers[first + 1], s.takers[first + 1]
    give_too = second(s.givers, first, s.less, count + n.place[giver])
    take_too = second(s.takers, first, s.more, count + n.place[taker])
    s.giver[2 * kind], s.giver[2 * kind + 1] = giver, give_too
    s.taker[2 * kind], s.taker[2 * kind + 1] = taker, take_too
    if giver != taker:
        s.step[kind] = s.less[giver] + s.more[taker]
    else:
        s.step[kind] = min(cost_at(s.less, give_too) + s.more[taker], s.less[giver] + cost_at(s.more, take_too))


@part
def lift(trees: Ints, first: int, cost: Floats, at: int, q: int) -> None:
    """Update the tournament that begins at `first` after a change at the leaf of count `q`.

    The winner is at place 1 of the tournament.
    """
    trees[first + at] = q
    while at > 1:
        one, two = trees[first + at], trees[first + (at ^ 1)]
        at >>= 1
        if two < 0 or (one >= 0 and (cost[one] < cost[two] or (cost[one] == cost[two] and one < two))):
            trees[first + at] = one
        else:
            trees[first + at] = two


@part
def second(trees: Ints, first: int, cost: Floats, at: int) -> int:
    """Return the second cheapest count of the tournament that begins at `first`; -1: there is no second count.

    It is the cheapest of the counts that the winner has met on its way up.

    cost  (Q,) the cost by which counts are compared
    at    the place of the winner's leaf
    """
    best = -1
    while at > 1:
        met = trees[first + (at ^ 1)]
        if met >= 0 and cost[met] < cost_at(cost, best):
            best = met
        at >>= 1
    return best


@part
def cost_at(cost: Floats, q: int) -> float:
    """Return the cost of a count, infinite for -1."""
    return cost[q] if q >= 0 else math.inf


@part
def other(best: Ints, kind: int, q: int) -> int:
    """Return the cheapest count of a class other than q."""
    found: int = best[2 * kind] if best[2 * kind] != q else best[2 * kind + 1]
    return found
