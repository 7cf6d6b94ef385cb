"""Place objects one after the other in their best shape with room, in the best balanced container."""

from __future__ import annotations

from libs.assignment.kernels.jit import compiled, part
from libs.assignment.kernels.xorshift import below_at
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.price.group_counts import RANDOM, Held, add, allowed

TIE = 1e-6
"""Difference of balance below which the fuller container is taken."""


@part
def roomy(o: int, c: int, need: Floats, left: Floats) -> bool:
    """Return whether an object fits into the remaining room."""
    fits = True
    for d in range(need.shape[1]):
        fits = fits and need[o, d] <= left[c, d]
    return fits


@part
def imbalance(o: int, c: int, need: Floats, left: Floats, inverse: Floats) -> float:
    """Return how unevenly the dimensions of the container would be filled. If one runs out first, the rest of the
    others is wasted.

    max_d f[d] - min_d f[d]  with  f[d] = (left[c, d] - need[o, d]) / capacity[c, d]
    """
    least, most = 1.0, 0.0
    for d in range(need.shape[1]):
        if inverse[c, d] > 0.0:
            free = (left[c, d] - need[o, d]) * inverse[c, d]
            least = min(least, free)
            most = max(most, free)
    return most - least + TIE * most


@part
def best_container(
    o: int,
    s: int,
    tries: int,
    need: Floats,
    inverse: Floats,
    first: Ints,
    listed: Ints,
    left: Floats,
    held: Held,
) -> int:
    """Return the best balanced container of shape s, among all or `tries` random ones; -1: none."""
    size = first[s + 1] - first[s]
    if size == 0:
        return -1
    best, least = -1, 1e300
    offset = below_at(held.counter, RANDOM, size)
    for k in range(min(size, tries)):
        c = listed[first[s] + ((offset + k) % size if size <= tries else below_at(held.counter, RANDOM, size))]
        if not roomy(o, c, need, left) or not allowed(o, c, held):
            continue
        found = imbalance(o, c, need, left, inverse)
        if found < least:
            best, least = c, found
    return best


@compiled
def place(
    who: Ints,
    rank: Ints,
    tries: int,
    need: Floats,
    inverse: Floats,
    first: Ints,
    listed: Ints,
    at: Ints,
    left: Floats,
    held: Held,
) -> int:
    """Place objects in the given order. Return the number of examined objects: all, unless the table of groups fills
    up.

    who   (n,) int     objects, in order
    rank  (n, W) int   the shapes of each, best first; -1: no more
    """
    for k in range(len(who)):
        if held.counter[0] * 2 > len(held.keys) and len(held.entry) > 0:
            return k
        o = who[k]
        for s in rank[k]:
            if s < 0:
                break
            c = best_container(o, s, tries, need, inverse, first, listed, left, held)
            if c >= 0:
                at[o] = c
                for d in range(need.shape[1]):
                    left[c, d] -= need[o, d]
                add(o, c, 1.0, held)
                break
    return len(who)
