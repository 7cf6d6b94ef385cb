"""Leave at once all counts that together make a STEP column 1, such as those of a container in one domain.

Single and double steps see no gain in it: the column falls with the last object. So each object goes by the cheapest
double step, dear or not: the container gives it, and takes another one elsewhere. If all together save nothing, they
are taken back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from libs.assignment.kernels.jit import callee, compiled
from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import csr
from libs.assignment.model.lowered import Lowered
from libs.assignment.model.step import Steps
from libs.assignment.solvers.portfolio.steps.change import cost_of, drop, keep, try_one
from libs.assignment.solvers.portfolio.steps.exchange import TAKE, choose, partner
from libs.assignment.solvers.portfolio.steps.margins import enter, refresh
from libs.assignment.solvers.portfolio.steps.network import CLIP, Network
from libs.assignment.solvers.portfolio.steps.state import MOVES_MAX, WAYS, State, borrow_network, borrow_state

OBJECTS_MAX = 64
"""Most objects of a column that is left: with more, the others of the container have little room for them."""


_NOTHING = np.zeros(0, np.int64)


class Leavable(NamedTuple):
    """V columns of steps that add up positive counts of one container each.

    column  (V,)
    first   (V + 1,)  counts[first[v]:first[v + 1]] are those of column v
    counts  the counts
    """

    column: Ints
    first: Ints
    counts: Ints


def leavable(lowered: Lowered) -> Leavable:
    """Return the columns of a lowered problem that containers may leave."""
    width, columns, counts, sizes = len(lowered.kind), [_NOTHING], [_NOTHING], [_NOTHING]
    for one in lowered.completions:
        if not isinstance(one, Steps) or not len(one.some):
            continue
        rows = csr(one.x.matrix)[one.some]
        size = np.diff(rows.indptr)
        row = np.repeat(np.arange(len(size)), size)
        of = np.append(lowered.container, -1)[np.minimum(rows.indices, width)]
        first = of[np.minimum(rows.indptr[:-1], len(of) - 1)] if len(of) else np.zeros(len(size), np.int64)
        bad = (of < 0) | (of != first[row]) | (rows.data <= 0)
        fits = (size > 0) & (one.x.constant[one.some] == 0) & (np.bincount(row[bad], minlength=len(size)) == 0)
        columns.append(one.y[fits])
        counts.append(rows.indices[fits[row]].astype(np.int64))
        sizes.append(size[fits])
    first = np.append(0, np.cumsum(np.concatenate(sizes)))
    return Leavable(np.concatenate(columns), first.astype(np.int64), np.concatenate(counts))


@callee
def gain_of(n: Network, s: State, y: int) -> float:
    """Return what the column y saves if it falls to 0: by itself, and in the columns that clip a sum with it."""
    gain: float = n.cost[y]
    for entry in range(n.start[y], n.start[y + 1]):
        e = n.element[entry]
        if n.function[e] == CLIP:
            after = min(max(s.x[e] - n.by[entry], n.low[e]), n.high[e])
            gain += n.cost[n.out[e]] * (s.value[n.out[e]] - after)
    return gain


@callee
def replace_one(n: Network, s: State, q: int, opened: Bools, log: Ints, by: Floats, at: int, most: float) -> float:
    """Give an object of the count q, and take another one in an opened count if that is cheaper. Return the change of
    cost; inf: not possible.

    log, by  receive the four changes at the places from `at` on
    most     what an object may cost. Counts that seem dearer by that than the cheapest one are not tried
    """
    container = n.container[q]
    p = partner(n, s, q, -1.0)
    if p < 0 or s.value[q] < n.least[q] + 0.5:
        return math.inf
    choose(n, s, container, opened)
    s.move[0], s.amount[0] = q, -1.0
    s.move[1], s.amount[1] = p, 1.0
    best, one = cost_of(n, s, 2), -1
    drop(n, s)
    groups, limit = n.groups_at[container + 1] - n.groups_at[container], math.inf
    for group in range(groups):
        b = s.best[WAYS * group + TAKE]
        if b >= 0:
            limit = min(limit, s.more[b] + s.paid[WAYS * group + TAKE] + most)
    for group in range(groups):
        b = s.best[WAYS * group + TAKE]
        if b >= 0 and s.more[b] + s.paid[WAYS * group + TAKE] <= limit:
            s.move[0], s.amount[0] = q, -1.0
            s.move[1], s.amount[1] = b, 1.0
            cost = s.more[p] + s.paid[WAYS * group + TAKE] + cost_of(n, s, 2)
            drop(n, s)
            if cost < best:
                best, one = cost, b
    if best == math.inf:
        return math.inf
    log[at], by[at] = q, -1.0
    log[at + 1], by[at + 1] = p, 1.0
    log[at + 2], by[at + 2] = q, 0.0
    log[at + 3], by[at + 3] = p, 0.0
    if one >= 0:
        log[at + 2], by[at + 2] = one, 1.0
        log[at + 3], by[at + 3] = partner(n, s, one, 1.0), -1.0
    return make(n, s, log, by, at, 1.0)


@callee
def make(n: Network, s: State, log: Ints, by: Floats, at: int, sign: float) -> float:
    """Make the four changes from the place `at` on, with a sign. Return the change of cost; inf: not possible.

    Only the margins of the changed counts follow, because many changes are taken back.
    """
    for k in range(MOVES_MAX):
        s.move[k], s.amount[k] = log[at + k], sign * by[at + k]
    cost = cost_of(n, s, MOVES_MAX)
    if cost == math.inf:
        drop(n, s)
        return cost
    keep(n, s)
    for k in range(MOVES_MAX):
        follow(n, s, log[at + k])
    return cost


@callee
def follow(n: Network, s: State, q: int) -> None:
    """Update the margins of the count q alone, and the best steps of its class."""
    s.more[q] = try_one(n, s, q, 1.0) if s.value[q] < n.most[q] - 0.5 else math.inf
    s.less[q] = try_one(n, s, q, -1.0) if s.value[q] > n.least[q] + 0.5 else math.inf
    enter(n, s, q)


@callee
def refresh_all(n: Network, s: State, log: Ints, number: int) -> None:
    """Update the margins of the containers of the counts log[:number], of each once."""
    for k in range(number):
        container, is_first = n.container[log[k]], True
        for before in range(k):
            is_first = is_first and n.container[log[before]] != container
        if is_first:
            refresh(n, s, container)


@callee
def leave(
    n: Network, s: State, counts: Ints, a: int, b: int, opened: Bools, log: Ints, by: Floats, most: float
) -> float:
    """Leave the counts[a:b], whose places in `opened` are False, if that saves anything. Return the change of cost.

    most  what the objects may cost together before the last one leaves
    """
    paid, moves, at, left = 0.0, 0, a, 0.0
    for k in range(a, b):
        left += s.value[counts[k]]
    while at < b:
        q = counts[at]
        if s.value[q] < 0.5:
            at += 1
            continue
        if moves == OBJECTS_MAX or paid >= most:
            break
        cost = replace_one(n, s, q, opened, log, by, MOVES_MAX * moves, (most - paid) / left)
        if cost == math.inf:
            break
        paid += cost
        left -= 1.0
        moves += 1
    if at == b and paid < 0.0:
        refresh_all(n, s, log, MOVES_MAX * moves)
        return paid
    for k in range(moves - 1, -1, -1):
        cost = make(n, s, log, by, MOVES_MAX * k, -1.0)
        if cost == math.inf:  # a limit that was broken before is less broken now, and may not be again
            refresh_all(n, s, log, MOVES_MAX * moves)
            return paid
        paid += cost
    for k in range(MOVES_MAX * moves):
        follow(n, s, log[k])
    return paid


@compiled
def vacate(
    n: Network,
    s: State,
    may: Leavable,
    order: Ints,
    place: Ints,
    opened: Bools,
    log: Ints,
    by: Floats,
    least: float,
    tries_max: int,
) -> float:
    """Leave columns in order, each if it saves more than `least`, until `tries_max` changes were tried. Return the
    change of cost. Margins must be known.

    order   positions of `may`
    place   (1,) where to begin; output: where to continue
    opened  (Q,) counts that are worth filling
    log, by (MOVES_MAX OBJECTS_MAX,) room
    """
    n, s = borrow_network(n), borrow_state(s)
    until, total = s.tried[0] + tries_max, 0.0
    while place[0] < len(order) and s.tried[0] < until:
        v = order[place[0]]
        place[0] += 1
        y = may.column[v]
        if s.value[y] < 0.5:
            continue
        gain = gain_of(n, s, y)
        if gain <= least:
            continue
        a, b = may.first[v], may.first[v + 1]
        was = opened[may.counts[a:b]]
        for at in range(a, b):
            opened[may.counts[at]] = False
        total += leave(n, s, may.counts, a, b, opened, log, by, gain - least)
        for at in range(a, b):
            opened[may.counts[at]] = was[at - a]
    return total
