"""What a change of a few counts costs, every column and limit that hangs on them included."""

from __future__ import annotations

import math

from libs.assignment.kernels.jit import callee, part
from libs.assignment.solvers.portfolio.steps.network import CLIP, LIMIT, MOST, STEP, Network
from libs.assignment.solvers.portfolio.steps.state import State

FITS = 5e-11
"""By which limits may be missed, as a share of the numbers at hand: half of what repair.py lets pass."""
SAME = 1e-12
"""A change that is smaller is none."""


@part
def pass_on(n: Network, s: State, column: int, by: float) -> None:
    """A column becomes other: tell the elements that read it."""
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
            s.list[depth, s.listed[depth]] = first
            s.listed[depth] += 1


@callee
def cost_of(n: Network, s: State, moves: int) -> float:
    """What the objective changes by when counts move[i] change by amount[i]; inf where a limit or a bound forbids it.

    The change stays noted until `keep` or `drop`.
    """
    total, fits = 0.0, True
    s.tried[0] += 1
    for i in range(moves):
        column, by = s.move[i], s.amount[i]
        after = s.value[column] + by
        fits &= after > n.least[column] - 0.5 and after < n.most[column] + 0.5
        total += n.cost[column] * by
        pass_on(n, s, column, by)
    for depth in range(1, len(s.listed)):
        for k in range(s.listed[depth]):
            if not fits:
                break
            e = s.list[depth, k]
            function, column = n.function[e], n.out[e]
            x = s.x[e] + s.change[e]
            if function == LIMIT:
                size = FITS * max(1.0, abs(x))
                # what was a hair over already may stay so
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
    """Forget the change that is noted."""
    for depth in range(1, len(s.listed)):
        for k in range(s.listed[depth]):
            e = s.list[depth, k]
            s.marked[e] = 0
            for other in range(e, n.last[e]):
                s.change[other] = 0.0
        s.listed[depth] = 0
    s.makes[0] = 0


@callee
def keep(n: Network, s: State) -> None:
    """Make the change that is noted."""
    for k in range(s.makes[0]):
        s.value[s.made[k]] += s.by[k]
    for depth in range(1, len(s.listed)):
        for k in range(s.listed[depth]):
            e = s.list[depth, k]
            for other in range(e, n.last[e]):
                s.x[other] += s.change[other]
    drop(n, s)


@part
def try_one(n: Network, s: State, column: int, by: float) -> float:
    """What one count costs that changes by so much, where the others of its class may be what they like."""
    s.move[0], s.amount[0] = column, by
    cost = cost_of(n, s, 1)
    drop(n, s)
    return cost


@part
def try_two(n: Network, s: State, giver: int, taker: int, k: float) -> float:
    """What it costs that k objects go from one count to another of their class. The change stays noted."""
    s.move[0], s.amount[0] = giver, -k
    s.move[1], s.amount[1] = taker, k
    return cost_of(n, s, 2)
