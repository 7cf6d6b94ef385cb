"""Compute the demand of objects at given prices: the dual function of the relaxation, and a smooth version of it."""

from __future__ import annotations

import math

import numpy as np

from libs.assignment.kernels.jit import compiled
from libs.assignment.language.arrays import Bools, Floats, Ints

FAR = 40.0
"""Exponent beyond which exp(-x) counts as 0."""
TRACE = 1e-9
"""Smaller shares count as 0."""


@compiled
def gains_by_shape(
    need: Floats, worth: Floats, kind: Ints, factor: Floats, opened: Bools, most: Floats, rent: Floats, gain: Floats
) -> None:
    """Compute each object's gain in each shape, less rent. It is minus infinity if the shape is forbidden, too small or
    without gain.

    gain  (n, S)  output; the other arrays as in Market (rows of the same n objects) and Offer
    """
    objects, shapes = gain.shape
    for o in range(objects):
        for s in range(shapes):
            gain[o, s] = -math.inf
            if not opened[kind[o], s]:
                continue
            found = 0.0
            for g in range(worth.shape[1]):
                found += worth[o, g] * factor[kind[o], s, g]
            fits = found > 0.0
            for d in range(need.shape[1]):
                if need[o, d] > most[s, d]:
                    fits = False
                if need[o, d] == 0.0:
                    found -= rent[s, d]
            if fits:
                gain[o, s] = found


@compiled
def smooth_dual(
    need: Floats,
    gain: Floats,
    pool: Ints,
    price: Floats,
    supply: Floats,
    warmth: float,
    slope: Floats,
    bend: Floats,
    share: Floats,
) -> float:
    """Compute the smoothed dual function, its slope and curvature, and the placed share of each object.

        f(y) = sum_pd y[p,d] supply[p,d] + sum_o T log(1 + sum_s exp((gain[o,s] - sum_d y[pool s, d] need[o,d]) / T))

    need    (n, D), gain (n, S)
    pool    (S,)
    price   (P, D)        y
    supply  (P, D)        the room of the pools
    warmth                T
    slope   (P D,)        output: df / dy = supply - sold room
    bend    (P D, P D)    output: second derivatives
    share   (n,)          output: placed share of each object, 0 to 1
    """
    objects, shapes = gain.shape
    dimensions = need.shape[1]
    slope[:] = supply.ravel()
    bend[:] = 0.0
    total = float((price * supply).sum())
    value, active = np.empty(shapes), np.empty(shapes, dtype=np.int64)
    for o in range(objects):
        top, count = 0.0, 0
        for s in range(shapes):
            net = gain[o, s]
            if net == -math.inf:
                continue
            for d in range(dimensions):
                net -= price[pool[s], d] * need[o, d]
            net /= warmth
            if net > -FAR:
                value[count] = net
                active[count] = pool[s] * dimensions
                count += 1
                top = max(top, net)
        mass = math.exp(-top)
        for i in range(count):
            value[i] = math.exp(value[i] - top)
            mass += value[i]
        total += warmth * (top + math.log(mass))
        share[o] = 1.0 - math.exp(-top) / mass
        for i in range(count):
            x = value[i] / mass
            if x < TRACE:
                continue
            for d in range(dimensions):
                slope[active[i] + d] -= x * need[o, d]
            if x > 1.0 - TRACE:
                continue
            for j in range(count):
                weight = ((x if i == j else 0.0) - x * value[j] / mass) / warmth
                for d in range(dimensions):
                    for e in range(dimensions):
                        bend[active[i] + d, active[j] + e] += weight * need[o, d] * need[o, e]
    return total


@compiled
def rank_shapes(need: Floats, gain: Floats, pool: Ints, price: Floats, rank: Ints, net: Floats, paid: Floats) -> None:
    """Rank the shapes of each object by net gain. Also compute the net gain and the payment in its first shape.

    rank  (n, W) int  output: the best W shapes; -1: no more
    net   (n,)        output: minus infinity if it fits nowhere
    paid  (n,)        output
    """
    objects, shapes = gain.shape
    found, cost = np.empty(shapes), np.empty(shapes)
    for o in range(objects):
        for s in range(shapes):
            cost[s] = 0.0
            for d in range(need.shape[1]):
                cost[s] += price[pool[s], d] * need[o, d]
            found[s] = gain[o, s] - cost[s]
        net[o], paid[o] = -math.inf, 0.0
        for w in range(rank.shape[1]):
            best = -1
            for s in range(shapes):
                if found[s] > -math.inf and (best < 0 or found[s] > found[best]):
                    best = s
            rank[o, w] = best
            if best < 0:
                for later in range(w + 1, rank.shape[1]):
                    rank[o, later] = -1
                break
            if w == 0:
                net[o], paid[o] = found[best], cost[best]
            found[best] = -math.inf
