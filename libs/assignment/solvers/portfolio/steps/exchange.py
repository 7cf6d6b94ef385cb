"""Descend by pairs of steps that meet in one container. The container takes one object and gives another, or takes two,
or gives two.
"""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, compiled
from libs.assignment.language.arrays import Bools, Ints
from libs.assignment.solvers.portfolio.steps.change import cost_of, drop, keep
from libs.assignment.solvers.portfolio.steps.margins import cost_at, other, refresh
from libs.assignment.solvers.portfolio.steps.network import Network
from libs.assignment.solvers.portfolio.steps.state import State, borrow_network, borrow_state
from libs.assignment.solvers.portfolio.steps.transfer import go_down

STEPS_MAX = 1_000_000
"""Most steps of one descent. A descent practically never reaches it."""


@callee
def go_through(n: Network, s: State, container: int, begin: int, opened: Bools, least: float, until: int) -> int:
    """For each step of a container, find the best second step, and make both at once if they save anything.

    Begin at its count `begin`, and stop after `until` changes in all, but not before one. Return the next count; -1 at
    the end.
    """
    if begin == 0:
        s.waiting[container] = 0
    first, last = n.containers_at[container], n.containers_at[container + 1]
    for at in range(first + begin, last):
        if s.tried[0] >= until and at > first + begin:
            return int(at - first)
        a = n.of_container[at]
        for sign in (1.0, -1.0):
            while may(n, s, a, sign, opened):
                if not exchange_with(n, s, a, sign, at + 1, last, opened, least):
                    break
                go_down(n, s, least, STEPS_MAX)
    return -1


@callee
def exchange_with(
    n: Network, s: State, a: int, sign: float, first: int, last: int, opened: Bools, least: float
) -> bool:
    """Make a step of count `a` together with the best later step of its container, if both together save anything.

    The costs in other containers come from their margins, and are computed exactly before the change.
    """
    paid, best, one, way = outside(n, s, a, sign), -least, -1, 1.0
    for at in range(first, last):
        b = n.of_container[at]
        for up in (1.0, -1.0):
            if may(n, s, b, up, opened):
                s.move[0], s.amount[0] = a, sign
                s.move[1], s.amount[1] = b, up
                cost = paid + outside(n, s, b, up) + cost_of(n, s, 2)
                drop(n, s)
                if cost < best:
                    best, one, way = cost, b, up
    if one < 0:
        return False
    p, q = partner(n, s, a, sign), partner(n, s, one, way)
    s.move[0], s.amount[0] = a, sign
    s.move[1], s.amount[1] = p, -sign
    s.move[2], s.amount[2] = one, way
    s.move[3], s.amount[3] = q, -way
    cost = cost_of(n, s, 4)
    if cost > -least:
        drop(n, s)
        return False
    keep(n, s)
    refresh(n, s, n.container[a])
    refresh(n, s, n.container[p])
    refresh(n, s, n.container[q])
    return True


@callee
def may(n: Network, s: State, q: int, sign: float, opened: Bools) -> bool:
    """Return whether a count has room for a step, a partner for it, and a possible gain."""
    after = s.value[q] + sign
    fits = n.least[q] - 0.5 < after < n.most[q] + 0.5
    return fits and (sign < 0 or opened[q]) and not math.isinf(outside(n, s, q, sign))


@callee
def partner(n: Network, s: State, q: int, sign: float) -> int:
    """Return the count outside the container that gives the object that q takes, or takes the object that q gives."""
    kind = n.kind[q]
    return other(s.giver if sign > 0 else s.taker, kind, q)


@callee
def outside(n: Network, s: State, q: int, sign: float) -> float:
    """Return the cost of the step at the partner of q."""
    p = partner(n, s, q, sign)
    return cost_at(s.less if sign > 0 else s.more, p)


@compiled
def exchange(n: Network, s: State, order: Ints, place: Ints, opened: Bools, least: float, tries_max: int) -> None:
    """Visit containers in order until `tries_max` changes were tried. Margins must be known.

    place   (2,) the container of `order` to begin with, and its count; output: where to continue
    opened  (Q,) counts that are worth filling
    """
    n, s = borrow_network(n), borrow_state(s)
    until = s.tried[0] + tries_max
    while place[0] < len(order) and s.tried[0] < until:
        at = go_through(n, s, order[place[0]], place[1], opened, least, until)
        place[1] = max(at, 0)
        if at < 0:
            place[0] += 1
