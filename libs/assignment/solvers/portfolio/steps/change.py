"""Compute the cost of a change of a few counts, with all dependent columns and limits."""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, part
from libs.assignment.solvers.portfolio.steps.network import CLIP, LIMIT, MOST, STEP, Network
from libs.assignment.solvers.portfolio.steps.state import APART, NONE, State

FITS = 5e-11
"""Relative tolerance of limits: half of repair.py's."""
SAME = 1e-12
"""A smaller change counts as none."""


@part
def pass_on(n: Network, s: State, column: int, by: float) -> None:
    """Change a column, and tell the elements that read it."""
    at = s.makes[0]
    s.made[at], s.by[at] = column, by
    s.makes[0] = at + 1
    for entry in range(n.start[column], n.start[column + 1]):
        e = n.element[entry]
        s.change[e] += n.by[entry] * by
        first = n.first[e]
        if n.function[e] == MOST and s.after[e] == APART:
            s.after[e] = s.head[first]
            s.head[first] = e
        if s.marked[first] == 0:
            s.marked[first] = 1
            depth = n.depth[e]
            s.list[depth * n.elements + s.listed[depth]] = first
            s.listed[depth] += 1


@callee
def cost_of(n: Network, s: State, moves: int) -> float:
    """Return the change of the objective if each count move[i] changes by amount[i]; inf if a limit or a bound forbids
    it.

    The change stays recorded until `keep` or `drop`.
    """
    total, fits = 0.0, True
    s.tried[0] += 1
    for i in range(moves):
        column, by = s.move[i], s.amount[i]
        after = s.value[column] + by
        fits &= after > n.least[column] - 0.5 and after < n.most[column] + 0.5
        total += n.cost[column] * by
        pass_on(n, s, column, by)
    for depth in range(1, n.depths):
        for k in range(s.listed[depth]):
            if not fits:
                break
            e = s.list[depth * n.elements + k]
            function, column = n.function[e], n.out[e]
            x = s.x[e] + s.change[e]
            if function == LIMIT:
                size = FITS * max(1.0, abs(x))
                # a slight excess that exists already may stay
                fits &= x <= max(n.high[e] + size, s.x[e]) and x >= min(n.low[e] - size, s.x[e])
                continue
            if function == CLIP:
                y = min(max(x, n.low[e]), n.high[e])
            elif function == MOST:
                y = largest(n, s, e)
            elif function == STEP:
                y = 1.0 if x > n.low[e] else 0.0
            else:
                y = math.ceil(x - n.low[e])
            by = y - s.value[column]
            if abs(by) > SAME * max(1.0, abs(y)):
                size = FITS * max(1.0, abs(y))
                fits &= (by <= 0 or y <= n.most[column] + size) and (by >= 0 or y >= n.least[column] - size)
                total += n.cost[column] * by
                pass_on(n, s, column, by)
    return total if fits else math.inf


@part
def largest(n: Network, s: State, first: int) -> float:
    """Return the largest argument of a maximum under the change: of its changed elements, and of the others."""
    y, e = -math.inf, s.head[first]
    while e != NONE:
        y = max(y, s.x[e] + s.change[e])
        e = s.after[e]
    top, second = s.top[first], s.second[first]
    if s.after[top] == APART:
        y = max(y, s.x[top])
    elif second != NONE and s.after[second] == APART:
        y = max(y, s.x[second])
    else:
        for e in range(first, n.last[first]):
            y = max(y, s.x[e] + s.change[e])
    return y


@callee
def rank(n: Network, s: State, first: int) -> None:
    """Find the two largest arguments of a maximum."""
    top, second = first, NONE
    for e in range(first + 1, n.last[first]):
        if s.x[e] > s.x[top]:
            top, second = e, top
        elif second == NONE or s.x[e] > s.x[second]:
            second = e
    s.top[first], s.second[first] = top, second


@callee
def drop(n: Network, s: State) -> None:
    """Discard the recorded change."""
    for depth in range(1, n.depths):
        for k in range(s.listed[depth]):
            first = s.list[depth * n.elements + k]
            s.marked[first] = 0
            s.change[first] = 0.0
            e = s.head[first]
            while e != NONE:
                s.change[e] = 0.0
                after = s.after[e]
                s.after[e] = APART
                e = after
            s.head[first] = NONE
        s.listed[depth] = 0
    s.makes[0] = 0


@callee
def keep(n: Network, s: State) -> None:
    """Apply the recorded change."""
    for k in range(s.makes[0]):
        s.value[s.made[k]] += s.by[k]
    for depth in range(1, n.depths):
        for k in range(s.listed[depth]):
            first = s.list[depth * n.elements + k]
            if n.function[first] == MOST:
                e = s.head[first]
                while e != NONE:
                    s.x[e] += s.change[e]
                    e = s.after[e]
                rank(n, s, first)
            else:
                s.x[first] += s.change[first]
    drop(n, s)


@part
def try_one(n: Network, s: State, column: int, by: float) -> float:
    """Return the cost of changing one count alone. The counts of its class then do not add up to the number of its
    objects.
    """
    s.move[0], s.amount[0] = column, by
    cost = cost_of(n, s, 1)
    drop(n, s)
    return cost


@part
def try_two(n: Network, s: State, giver: int, taker: int, k: float) -> float:
    """Return the cost of moving k objects from one count to another of their class. The change stays recorded."""
    s.move[0], s.amount[0] = giver, -k
    s.move[1], s.amount[1] = taker, k
    return cost_of(n, s, 2)
