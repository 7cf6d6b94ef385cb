"""Flatten a lowered problem into arrays that give the cost of a change of a few counts.

Every column that is not a count is a function of a linear combination of earlier columns. These are the *elements* of
the network. Rows that determine no column are elements that only limit.

    x[e]  =  constant[e]  +  sum_c coefficient[e,c] value[c]
    value[out[e]]  =  min(max(x[e], low[e]), high[e])        CLIP
                      1 if x[e] > low[e], else 0             STEP
                      x[e] - low[e] rounded up               CEIL
                      the largest x of the elements with this out     MOST
    low[e] <= x[e] <= high[e], and no column                 LIMIT
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.expressions.ceil import CEIL_TOLERANCE
from libs.assignment.language.expressions.step import STEP_TOLERANCE
from libs.assignment.language.matrices import Matrix, csc, csr
from libs.assignment.model.affine import Affine
from libs.assignment.model.ceil import Ceilings
from libs.assignment.model.leaving_counts import Leaving
from libs.assignment.model.lowered import Lowered
from libs.assignment.model.maximum import Maxima
from libs.assignment.model.piecewise import Pieces
from libs.assignment.model.positive_part import PositiveParts
from libs.assignment.model.shared_sums import Sums
from libs.assignment.model.step import Steps
from libs.assignment.solvers.portfolio.steps.alike import alike
from libs.mip.model import Model

CLIP, STEP, CEIL, MOST, LIMIT = range(5)


class Network(NamedTuple):
    """C columns, the first Q of them counts; E elements by rising depth, those of one maximum next to each other.

    elements, depths      E, and the number of depths, which begin at 1, and one more
    kinds, containers     the number of classes, and of containers
    function, out, depth  (E,)   out -1: none
    constant, low, high   (E,)
    first, last           (E,)   of a maximum: its elements; else e and e + 1
    start                 (C + 1,)  entries of a column: element[start[c]:start[c + 1]], by
    cost, least, most     (C,)   of the columns, and their bounds
    kind, container       (Q,)
    kinds_at, of_kind     (K + 1,), (Q,)  counts by class; place (Q,): position of a count among those of its class
    groups_at, group_at, of_group  (S + 1,), (G + 1,), (Q,)  groups of alike counts by container, and counts by group:
                                   see alike.py
    """

    elements: int
    depths: int
    kinds: int
    containers: int
    function: Ints
    out: Ints
    depth: Ints
    constant: Floats
    low: Floats
    high: Floats
    first: Ints
    last: Ints
    start: Ints
    element: Ints
    by: Floats
    cost: Floats
    least: Floats
    most: Floats
    kind: Ints
    container: Ints
    kinds_at: Ints
    of_kind: Ints
    place: Ints
    groups_at: Ints
    group_at: Ints
    of_group: Ints


class _Parts:
    """A collector of the elements of a network, from which `network_of` makes the arrays.

    matrices  the coefficients of the elements, one matrix for each call of `add`
    numbers   the constants, lower limits and upper limits of these elements
    labels    the functions of these elements, and the columns that they determine
    """

    def __init__(self) -> None:
        self.matrices: list[Matrix] = []
        self.numbers: list[Floats] = []
        self.labels: list[Ints] = []

    def add(self, matrix: Matrix, constant: Floats, function: int, out: Ints, low: ArrayLike, high: ArrayLike) -> None:
        """Add an element for each row of `matrix`, with the constant, function and limits given for the row.

        out  the column that each element determines; -1: none
        """
        count = len(constant)
        self.matrices.append(csr(matrix))
        low, high = (np.broadcast_to(np.asarray(each, np.float64), (count,)) for each in (low, high))
        self.numbers.append(np.stack([constant, low, high]))
        self.labels.append(np.stack([np.full(count, function), out]))


def not_followed(lowered: Lowered) -> tuple[str, ...]:
    """Return the specs whose columns steps cannot follow: n-th largest values, and curves. () if there are none."""
    return tuple(sorted({one.name for one in lowered.completions if isinstance(one, Pieces) or _nth_largest(one)}))


def network_of(lowered: Lowered, model: Model) -> Network:
    """Return the network of a lowered problem, for which `not_followed` must be empty.

    model  a model with the columns of `lowered.model`. Its first rows are those of `lowered.model`, and its cost is the
           objective of the network
    """
    width, counts = len(model.cost), len(lowered.kind)
    parts = _Parts()
    _leaving(parts, lowered.leaving, width)
    for one in lowered.completions:
        _completion(parts, one, width)
    _limits(parts, model, counts, len(lowered.classes.size))
    matrix = csr(sp.vstack(parts.matrices))
    constant, low, high = np.concatenate(parts.numbers, axis=1)
    function, out = np.concatenate(parts.labels, axis=1)
    depth = _depths(matrix, function, out, width)
    order = np.lexsort((np.arange(len(out)), np.where(function == MOST, out, -1), function, depth))
    matrix, constant, function, out = matrix[order], constant[order], function[order], out[order]
    first, last = np.arange(len(out)), np.arange(1, len(out) + 1)
    most = np.flatnonzero(function == MOST)
    new = np.append(True, out[most[1:]] != out[most[:-1]])[: len(most)]
    begins = most[new]
    ends = np.append(most[np.flatnonzero(new)[1:] - 1] + 1, most[-1:] + 1)
    first[most], last[most] = begins[np.cumsum(new) - 1], ends[np.cumsum(new) - 1]
    by_column = csc(matrix)
    kinds_at = _starts(lowered.kind, len(lowered.classes.size))
    of_kind = np.argsort(lowered.kind, kind="stable")
    of_group, group_at = alike(by_column, model.cost[:counts], lowered.container)
    return Network(
        elements=len(out),
        depths=int(depth.max(initial=0)) + 1,
        kinds=len(lowered.classes.size),
        containers=len(lowered.problem.containers),
        function=function,
        out=out,
        depth=depth[order],
        constant=constant,
        low=low[order],
        high=high[order],
        first=first,
        last=last,
        start=by_column.indptr.astype(np.int64),
        element=by_column.indices.astype(np.int64),
        by=by_column.data,
        cost=np.ascontiguousarray(model.cost),
        least=np.ascontiguousarray(model.lower),
        most=np.ascontiguousarray(model.upper),
        kind=lowered.kind.astype(np.int64),
        container=lowered.container.astype(np.int64),
        kinds_at=kinds_at,
        of_kind=of_kind.astype(np.int64),
        place=np.argsort(of_kind).astype(np.int64) - kinds_at[lowered.kind],
        groups_at=_starts(lowered.container[of_group[group_at[:-1]]], len(lowered.problem.containers)),
        group_at=group_at,
        of_group=of_group,
    )


def with_cost(n: Network, cost: Floats) -> Network:
    """Return the same network with another objective: the costs of its columns, (C,)."""
    by_column = csc(sp.csc_array((n.by, n.element, n.start), shape=(n.elements, len(cost))))
    of_group, group_at = alike(by_column, cost[: len(n.kind)], n.container)
    return n._replace(
        cost=np.ascontiguousarray(cost),
        groups_at=_starts(n.container[of_group[group_at[:-1]]], n.containers),
        group_at=group_at,
        of_group=of_group,
    )


def _starts(label: Ints, labels: int) -> Ints:
    """Return the first position of each label in sorted order, (labels + 1,)."""
    return np.append(0, np.cumsum(np.bincount(label, minlength=labels))).astype(np.int64)


def _leaving(parts: _Parts, leaving: Leaving, width: int) -> None:
    """Add the elements of leaving, cheapest first: leave[j] = min(max(held - sum of those before - there, 0),
    size[j]).
    """
    if not len(leaving.column):
        return
    group, size = leaving.group[leaving.order], leaving.size[leaving.order].astype(np.float64)
    before = np.cumsum(size) - size
    new = np.append(True, group[1:] != group[:-1])
    before -= np.repeat(before[new], np.diff(np.append(np.flatnonzero(new), len(group))))
    there = csr((np.full(len(leaving.counts), -1.0), (leaving.at, leaving.counts)), shape=(len(leaving.held), width))
    parts.add(there[group], leaving.held[group] - before, CLIP, leaving.column[leaving.order], 0.0, size)


def _nth_largest(one: object) -> TypeGuard[Maxima]:
    return isinstance(one, Maxima) and bool(one.n or len(one.below))


def _completion(parts: _Parts, one: object, width: int) -> None:
    if isinstance(one, Sums):
        parts.add(*_some(one.x, one.some, width), CLIP, one.y, -np.inf, np.inf)
    elif isinstance(one, PositiveParts):
        parts.add(*_some(one.x, one.some, width), CLIP, one.y, 0.0, np.inf)
        if len(one.z):
            parts.add(*_some(one.x, one.some, width), STEP, one.z, 0.0, 0.0)
    elif isinstance(one, Steps):
        parts.add(*_some(one.x, one.some, width), STEP, one.y, STEP_TOLERANCE, 0.0)
    elif isinstance(one, Ceilings):
        parts.add(*_some(one.x, one.some, width), CEIL, one.y, CEIL_TOLERANCE, 0.0)
    elif isinstance(one, Maxima) and not _nth_largest(one):
        parts.add(*_some(one.x, np.arange(len(one.out)), width), MOST, one.y[one.out], 0.0, 0.0)
    else:
        raise TypeError(f"steps cannot follow {type(one).__name__}; not_followed should have said so")


def _some(x: Affine, some: Ints, width: int) -> tuple[Matrix, Floats]:
    rows = csr(x.matrix)[some]
    return csr((rows.data, rows.indices, rows.indptr), shape=(len(some), width)), x.constant[some]


def _limits(parts: _Parts, model: Model, counts: int, classes: int) -> None:
    """Add rows that do more than determine their last column. Rows of classes hold after any step."""
    rows = csr(model.matrix)
    rows.sort_indices()
    filled = np.diff(rows.indptr) > 0
    last = np.where(filled, rows.indptr[1:] - 1, 0)
    top, by = rows.indices[last], rows.data[last]
    defines: Bools = (top >= counts) & (by > 0) & np.isfinite(model.row_lower)
    defines &= np.isinf(model.row_upper) | (model.row_upper == model.row_lower)
    some = np.flatnonzero(filled & ~defines)
    some = some[some >= classes]
    none = np.full(len(some), -1)
    parts.add(rows[some], np.zeros(len(some)), LIMIT, none, model.row_lower[some], model.row_upper[some])


def _depths(matrix: Matrix, function: Ints, out: Ints, width: int) -> Ints:
    """Return for each element one more than the largest depth of its columns, (E,); equal within a maximum."""
    depth = np.ones(len(out), dtype=np.int64)
    of_column = np.zeros(width, dtype=np.int64)
    entry = np.repeat(np.arange(len(out)), np.diff(matrix.indptr))
    made = np.flatnonzero(out >= 0)
    while True:
        of_column[:] = 0
        np.maximum.at(of_column, out[made], depth[made])
        deeper = np.ones(len(out), dtype=np.int64)
        np.maximum.at(deeper, entry, 1 + of_column[matrix.indices])
        of_column[:] = 0
        np.maximum.at(of_column, out[made], deeper[made])
        deeper[made] = of_column[out[made]]
        if (deeper == depth).all():
            return depth
        depth = deeper
