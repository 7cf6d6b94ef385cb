"""Distribute items to parts."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.deal import Deal


def deal(how: Deal, kinds: Ints, loads: Floats, parts: int, rng: np.random.Generator) -> Ints:
    """Return a part for each item, (K,).

    kinds  (K,) items with one number are alike; only BY_ATTRIBUTE uses them
    loads  (K,) the load that each adds to its part; RANDOM ignores them
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
    """Give each item to the less loaded of two random parts.

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
    """Go kind by kind, heaviest first: to the least loaded of the parts with the fewest of the kind."""
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
