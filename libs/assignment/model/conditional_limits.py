"""Link limits with steps over the same counts: a container that is not in use has no capacity either."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from libs.assignment.language.arrays import Bools, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.assembly import Assembly, entries_of

Numbers = NDArray[np.uint64]
SEED = 0x51EED
"""Seed of the random numbers that identify sets of columns; any seed works."""


def add_links(a: Assembly) -> None:
    """Link limits with steps over the same counts.

        sum_q a[i,q] n[q]  -  excess[i]  <=  limit[i] y[e]      for each step y[e] = 1 if sum_q b[e,q] n[q] > 0, and
                                                                each limit i of a n, a >= 0, over the same counts

    excess is the amount above the limit; hard limits that hold have none. If y = 0 all these counts are 0, so no point
    is lost. In a relaxation y becomes the used share of the limit instead of the share of all objects. Sets of columns
    are compared by a sum of 64-bit random numbers. Rows: at most one per limit.
    """
    if not any(len(y) for _, y in a.steps) or not a.limits:
        return
    each = np.random.default_rng(SEED).integers(1, 2**63, size=len(a.counts.kind), dtype=np.uint64)
    steps, y = np.concatenate([_sets(x, each) for x, _ in a.steps]), np.concatenate([y for _, y in a.steps])
    known, first = np.unique(steps, return_index=True)
    for name, matrix, limit, excess, keys, columns in a.limits:
        sets = _sets(matrix, each)
        at = np.minimum(np.searchsorted(known, sets), len(known) - 1)
        some = np.flatnonzero((known[at] == sets) & (sets != 0))
        broken = np.flatnonzero(excess[some] >= 0)
        a.add_rows(
            name,
            "only where counted",
            keys[some],
            columns,
            entries_of(matrix, some),
            (np.arange(len(some)), y[first[at[some]]], -limit[some]),
            (broken, excess[some[broken]], -1.0),
            upper=0.0,
        )


def counts_alone(a: Assembly, matrix: Matrix, some: Ints, *, least: float = 0.0) -> Ints:
    """Return the rows that contain only counts, with no coefficient below the least."""
    rows: Matrix = csr(matrix)[some]
    bad = (rows.data < least) | (rows.indices >= len(a.counts.kind))
    element = np.repeat(np.arange(len(some)), np.diff(rows.indptr))
    alone: Bools = np.bincount(element[bad], minlength=len(some)) == 0
    return np.asarray(some[alone], dtype=np.int64)


def _sets(matrix: Matrix, each: Numbers) -> Numbers:
    """Return one number per set of columns, (E,); 0 for the empty set."""
    rows: Matrix = csr(matrix)
    element = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    found = np.zeros(rows.shape[0], dtype=np.uint64)
    np.add.at(found, element, each[rows.indices])
    return found
