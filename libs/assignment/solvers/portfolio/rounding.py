"""Round a fractional plan to whole counts by a network flow, within the floors and ceilings of the plan and of its
sums.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.lowered import Lowered
from libs.mip.highs import Limits, SolverError, solve_lp
from libs.mip.model import Mip

FUZZ = 1e-6
"""Precision of whole numbers in an interior point."""


def round_counts(lowered: Lowered, fractional: Floats, sink: int = -1, *, time_s_max: float = np.inf) -> Ints | None:
    """Return whole counts n (Q,) whose sums stay within the floor and ceiling of the sums of the plan `fractional`.

    Return None if the time ran out. With f for `fractional`:

        floor(f[q])               <=  n[q]               <=  ceil(f[q])               for all counts
        floor(sum_{q in F} f[q])  <=  sum_{q in F} n[q]  <=  ceil(sum_{q in F} f[q])  for all F of a nested family
        sum_{q of class k} n[q]   =   size[k]                                         for all classes

    A set of the family has the counts of one container, or the counts in one row of the model. The family takes larger
    sets first. It leaves out a set that overlaps an earlier set and is not nested in it.

    The sets of counts of one class are disjoint. Two laminar families make a transportation problem, whose vertices are
    whole. The fractional plan satisfies the transportation problem, so a vertex exists. The result is a vertex nearest
    to the plan.

    Later phases of the portfolio repair rows that the family leaves out, and costs that rounding added. A relaxation
    that ran out of time may leave objects out. These objects go to the container `sink`, if there is one.
    """
    f = _fitted(lowered, fractional, sink)
    low, high = np.floor(f + FUZZ), np.ceil(f - FUZZ)
    open_ = np.flatnonzero(high > low)
    counts: Ints = low.astype(np.int64)
    if not len(open_):
        return counts
    m = Mip()
    part = (f - low)[open_]
    n = m.add_columns(len(open_), cost=1.0 - 2.0 * part, upper=1.0)
    family = nested_family(_sums(lowered, open_))
    total = family @ part
    rows, columns = family.nonzero()
    m.add_rows(
        family.shape[0],
        (rows, n[columns], 1.0),
        lower=np.floor(total + 10 * FUZZ),
        upper=np.ceil(total - 10 * FUZZ),
    )
    kinds, row = np.unique(lowered.kind[open_], return_inverse=True)
    left = lowered.classes.size[kinds] - np.bincount(lowered.kind, low, len(lowered.classes.size))[kinds]
    m.add_rows(len(kinds), (row, n, 1.0), lower=left, upper=left)
    found = solve_lp(m.build(), "simplex", Limits(time_s_max=time_s_max))
    if found.timed_out:
        return None
    if found.x is None or not found.optimal:
        raise SolverError(f"the rounding network has a solution, yet HiGHS says {found.status}")
    counts[open_] += np.rint(found.x).astype(np.int64)
    return counts


def nested_family(sets: Matrix) -> Matrix:
    """Choose from `sets` (rows, columns) sets of which any two are nested or disjoint: (F, columns), larger sets first.

    The function stores for each column the smallest chosen set that contains the column. The next set fits if the
    stored set is the same for all columns of the next set. Sets of one column and repeated sets are left out.
    """
    mark = np.random.default_rng(0).integers(1, 2**62, sets.shape[1])  # equal sets have equal sums of marks
    sizes = np.diff(sets.indptr)
    sums = np.add.reduceat(np.append(mark[sets.indices], 0), sets.indptr[:-1]) if sets.shape[0] else np.zeros(0)
    several = np.flatnonzero(sizes > 1)
    _, first = np.unique(sums[several], return_index=True)
    candidates = several[np.sort(first)]
    candidates = candidates[np.argsort(-sizes[candidates], kind="stable")]
    innermost = np.full(sets.shape[1], -1)
    chosen = []
    for s in candidates.tolist():
        columns = sets.indices[sets.indptr[s] : sets.indptr[s + 1]]
        around = innermost[columns]
        if (around == around[0]).all():
            innermost[columns] = s
            chosen.append(s)
    return csr(sets[chosen])


def _sums(lowered: Lowered, open_: Ints) -> Matrix:
    """Return the sets that the family is chosen from, (sets, open counts): 1 if the set contains the count.

    A set has the counts of one container, or the counts in one row of the model. Supply rows are left out.

    open_  the counts that are not whole in the plan
    """
    rows = csr(lowered.model.matrix[:, open_])[len(lowered.classes.size) :]
    shape = len(lowered.problem.containers), len(open_)
    whole = csr((np.ones(len(open_)), (lowered.container[open_], np.arange(len(open_)))), shape=shape)
    indptr = np.concatenate([whole.indptr, whole.indptr[-1] + rows.indptr[1:]])
    indices = np.concatenate([whole.indices, rows.indices])
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, len(open_)))


def _fitted(lowered: Lowered, fractional: Floats, sink: int) -> Floats:
    """Return the plan `fractional`, changed so that the counts of each class add up to the size of the class, (Q,).

    An interior point misses the sizes slightly. The point of a solve that ran out of time misses them by more. Missing
    objects go to `sink` first.
    """
    kinds, size, most = lowered.kind, lowered.classes.size, lowered.model.upper[: len(fractional)]
    f = np.clip(np.nan_to_num(fractional), 0.0, most)
    f *= np.minimum(1.0, size / np.maximum(np.bincount(kinds, f, len(size)), 1e-12))[kinds]
    for room in ((most - f) * (lowered.container == sink), most - f):
        missing = size - np.bincount(kinds, f, len(size))
        there = np.bincount(kinds, room, len(size))
        f = f + room * np.minimum(1.0, missing / np.maximum(there, 1e-12))[kinds]
    return np.asarray(np.clip(f, 0.0, most))
