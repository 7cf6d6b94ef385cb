"""Distribute items to parts. An item is a container, an object, or a lump of containers that stay together."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.deal import Deal


def deal(how: Deal, kinds: Ints, loads: Floats, parts: int, rng: np.random.Generator) -> Ints:
    """Return a part for each of K items, (K,).

    kinds  (K,) the kind of each item. Only BY_ATTRIBUTE uses kinds: it spreads the items of a kind over all parts
    loads  (K,) the load that each item adds to its part. RANDOM ignores loads
    """
    if how is Deal.RANDOM:
        return _in_turns(rng.permutation(len(kinds)), parts)
    if how is Deal.POWER_OF_TWO:
        return _less_loaded(loads, parts, rng)
    return _by_kind(kinds, loads, parts, rng)


def _in_turns(order: Ints, parts: int) -> Ints:
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.arange(len(order)) % parts
    return of


def _less_loaded(loads: Floats, parts: int, rng: np.random.Generator) -> Ints:
    """Return a part for each item: the less loaded of two random parts.

    Source: Mitzenmacher, The power of two choices in randomized load balancing.
    """
    of, held = np.zeros(len(loads), dtype=np.int64), np.zeros(parts)
    drawn = rng.integers(parts, size=(len(loads), 2))
    for k in rng.permutation(len(loads)):
        one, other = drawn[k]
        of[k] = one if held[one] <= held[other] else other
        held[of[k]] += loads[k]
    return of


def _by_kind(kinds: Ints, loads: Floats, parts: int, rng: np.random.Generator) -> Ints:
    """Return a part for each item. Deal the items kind by kind, and within a kind the items with the most load first.

    An item goes to one of the parts with the fewest items of its kind, and of these to the least loaded part.
    """
    order = np.lexsort((rng.permutation(len(kinds)), -loads, kinds))
    if (loads == loads[:1]).all():
        return _in_turns(order, parts)
    of, held, have, kind = np.empty(len(kinds), dtype=np.int64), np.zeros(parts), np.zeros(parts), -1
    for k in order:
        if kinds[k] != kind:
            have[:], kind = 0.0, kinds[k]
        fewest = np.flatnonzero(have == have.min())
        of[k] = fewest[held[fewest].argmin()]
        held[of[k]] += loads[k]
        have[of[k]] += 1
    return of
