"""Compute the cost of a change of a few counts, with all dependent columns and limits."""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, part
from libs.assignment.solvers.portfolio.steps.network import CLIP, LIMIT, MOST, STEP, Network
from libs.assignment.solvers.portfolio.steps.state import State

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
                y = x
                for other in range(e + 1, n.last[e]):
                    y = max(y, s.x[other] + s.change[other])
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


@callee
def drop(n: Network, s: State) -> None:
    """Discard the recorded change."""
    for depth in range(1, n.depths):
        for k in range(s.listed[depth]):
            e = s.list[depth * n.elements + k]
            s.marked[e] = 0
            for other in range(e, n.last[e]):
                s.change[other] = 0.0
        s.listed[depth] = 0
    s.makes[0] = 0


@callee
def keep(n: Network, s: State) -> None:
    """Apply the recorded change."""
    for k in range(s.makes[0]):
        s.value[s.made[k]] += s.by[k]
    for depth in range(1, n.depths):
        for k in range(s.listed[depth]):
            e = s.list[depth * n.elements + k]
            for other in range(e, n.last[e]):
                s.x[other] += s.change[other]
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
