"""Group the counts of a container that are alike: their columns have the same entries and the same cost.

One object more or less in any of them changes the cost of the container by the same amount. They differ only in the
class whose objects they take. Classes that differ in something that a container does not ask about, such as network
blocks, give it alike counts.
"""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import Matrix

MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number that spreads the bits of a hash."""
HALF = np.uint64(32)


def alike(by_column: Matrix, cost: Floats, container: Ints) -> tuple[Ints, Ints]:
    """Return the counts by container, alike ones next to each other, (Q,), and where their groups begin, (G + 1,).

    A hash brings alike counts together, and neighbours are then compared entry by entry. So a group never has counts
    that differ.

    by_column  a matrix in CSC form, whose first Q columns are those of the counts
    cost       (Q,)
    """
    counts, start = len(container), by_column.indptr[: len(container) + 1].astype(np.int64)
    place = container.astype(np.uint64) << HALF
    order = np.argsort(place | _hashed(by_column, start, cost), kind="stable")
    one, two = order[:-1], order[1:]
    size = np.diff(start)
    same = (container[one] == container[two]) & (cost[one] == cost[two]) & (size[one] == size[two])
    same[same] = _equal_entries(by_column, start[one[same]], start[two[same]], size[one[same]])
    return order.astype(np.int64), np.append(np.flatnonzero(np.append(True, ~same)[:counts]), counts)


def _hashed(by_column: Matrix, start: Ints, cost: Floats) -> Ints:
    """Return a hash of the entries and the cost of each column, of 32 bits, (Q,)."""
    element = by_column.indices[: start[-1]].astype(np.uint64)
    mixed = (element + np.uint64(1)) * MIX ^ by_column.data[: start[-1]].view(np.uint64) * MIX
    sums = np.append(np.uint64(0), np.cumsum((mixed ^ mixed >> HALF) * MIX))
    hashed: Ints = (sums[start[1:]] - sums[start[:-1]] + cost.view(np.uint64)) * MIX >> HALF
    return hashed


def _equal_entries(by_column: Matrix, one: Ints, two: Ints, size: Ints) -> Bools:
    """Return for each pair of columns of `size` entries, which begin at `one` and `two`, whether all are equal."""
    pair = np.repeat(np.arange(len(size)), size)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(size) - size, size)
    first, second = one[pair] + within, two[pair] + within
    differ = by_column.indices[first] != by_column.indices[second]
    differ |= by_column.data[first] != by_column.data[second]
    return np.asarray(np.bincount(pair, differ, len(size)) == 0)
