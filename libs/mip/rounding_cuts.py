"""Cut off fractions: rows that all points with whole numbers keep.

A program of one container with few objects has a weak relaxation: it takes a thin slice of many classes. Then the
largest group is almost nothing, and no group has an excess. Branch and bound would need a node for each class to see
that a whole object is in some group. The rows here say it at once.

Source: mixed-integer rounding of single rows, Marchand and Wolsey 2001, "Aggregation and mixed integer rounding".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from libs.domain.arrays import Bools, Floats
from libs.mip.model import Indices, Model

FRACTION_MIN = 1e-3
"""Least distance of a number of units from whole ones. Below it a cut gains nothing, or trusts rounding."""
UNITS_MAX = 1e4
"""Most units in a side or a weight of a row. With more, the fraction of a unit drowns in rounding."""
ROUNDING = 1e-10
"""By how much a cut is looser than the arithmetic says, for rounding in sums of floats."""
ALONE_UNITS = 4.0
"""A row on all objects but the largest comes from needs of fewer units of the largest weight than this. With more, the
largest object is a small part of what is needed.
"""
TERMS = 1e-14
"""By how much it is looser at least, as a share of the largest terms of its counts, which may cancel in the sum."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """The rows of a model in the form  weight . (x - lower) >= need,  with E entries in n rows.

    A row that has an upper side too is here twice.

    row, column, weight  (E,) of each entry, ordered by row
    first                (n + 1,) the first entry of each row
    need                 (n,) the right side
    counts               (E,) whether the column has whole numbers
    """

    row: Indices
    column: Indices
    weight: Floats
    first: Indices
    need: Floats
    counts: Bools

    @classmethod
    def of(cls, model: Model) -> _Rows:
        matrix = sp.csr_array(model.matrix)
        low, high = np.flatnonzero(np.isfinite(model.row_lower)), np.flatnonzero(np.isfinite(model.row_upper))
        sides = sp.csr_array(sp.vstack([matrix[low], -matrix[high]]))
        need = np.concatenate([model.row_lower[low], -model.row_upper[high]]) - sides @ model.lower
        first = sides.indptr.astype(np.intp)
        return cls(
            row=np.repeat(np.arange(len(need)), np.diff(first)),
            column=sides.indices.astype(np.intp),
            weight=sides.data,
            first=first,
            need=need,
            counts=model.integer[sides.indices],
        )

    def sums(self, of: Floats) -> Floats:
        """Return the sum of `of` (E,) in each row, (n,)."""
        return np.bincount(self.row, of, len(self.need)).astype(np.float64)

    def most(self, of: Floats) -> Floats:
        """Return the largest of `of` (E,) in each row, (n,), at least 0."""
        found = np.zeros(len(self.need))
        np.maximum.at(found, self.row, of)
        return found


def with_rounding_cuts(model: Model, units_max: float = UNITS_MAX) -> Model:
    """Return `model` with more rows, which all its points with whole numbers keep.

    The lower bounds of columns must be finite, and those of integer columns whole.

    units_max  round no single row with a side of so many units or more: they gain least
    """
    rows = _Rows.of(model)
    size = np.where(rows.counts, np.abs(rows.weight), 0.0)
    largest = rows.most(size)
    smallest = largest - rows.most(np.where(rows.counts, largest[rows.row] - size, 0.0))
    cuts = [_least_maxima(model, rows)]
    for unit, some in ((largest, largest > 0), (smallest, (smallest > 0) & (smallest < largest))):
        cuts.append(_rounded(model, rows, unit, some, units_max))
    needs = [model.row_lower, *(need for _, need in cuts)]
    return replace(
        model,
        matrix=sp.csc_array(sp.vstack([model.matrix, *(matrix for matrix, _ in cuts)])),
        row_lower=np.concatenate(needs),
        row_upper=np.append(model.row_upper, np.full(sum(len(need) for need in needs[1:]), np.inf)),
    )


def _rounded(model: Model, rows: _Rows, unit: Floats, some: Bools, units_max: float) -> tuple[sp.csr_array, Floats]:
    """Return the rows from rounding the rows `some` (n,) divided by `unit` (n,), and their lower sides.

    With y >= 0 for the continuous columns of positive weight, and whole counts k >= 0:

        y + weight . k >= need    so    y + unit sum(g(weight / unit) k) >= unit f ceil(need / unit)

    f is the fraction of need / unit, and g(a) = f floor(a) + min(f, a - floor(a)). A continuous column of negative
    weight only makes a row harder, so it may be left out.
    """
    divided = np.divide(rows.need, unit, out=np.zeros_like(unit), where=some)
    f = divided - np.floor(divided)
    paid = ~rows.counts & (rows.weight > 0)
    some = some & (f > FRACTION_MIN) & (f < 1 - FRACTION_MIN) & (rows.sums(paid.astype(np.float64)) > 0)
    some &= rows.most(np.where(rows.counts, np.abs(rows.weight), 0.0)) < UNITS_MAX * unit
    some &= np.abs(rows.need) < units_max * unit
    kept = some[rows.row] & (rows.counts | paid)
    row, weight, column = rows.row[kept], rows.weight[kept], rows.column[kept]
    counts = rows.counts[kept]
    shares = np.divide(weight, unit[row], out=np.zeros_like(weight), where=counts)
    whole = np.floor(shares)
    g = f[row] * whole + np.minimum(f[row], shares - whole)
    weight = np.where(counts, unit[row] * g, weight)
    need = unit * f * np.ceil(divided)
    terms = np.where(counts, unit[row] * (np.abs(shares) + 1.0), 0.0) * _reach(model)[column]
    least = TERMS * np.bincount(row, terms, len(need))
    need += np.bincount(row, weight * model.lower[column], len(need))
    number = np.cumsum(some) - 1
    chosen = np.flatnonzero(some)
    matrix = sp.csr_array((weight, (number[row], column)), shape=(len(chosen), len(model.cost)))
    matrix.eliminate_zeros()
    return matrix, (need - np.maximum(ROUNDING * np.maximum(1.0, np.abs(need)), least))[chosen]


def _reach(model: Model) -> Floats:
    """Return the largest size of each column's values, (C,), as far as its bounds are finite."""
    ends = np.abs([model.lower, model.upper])
    return np.asarray(np.where(np.isfinite(ends), ends, 0.0).max(axis=0))


def _least_maxima(model: Model, rows: _Rows) -> tuple[sp.csr_array, Floats]:
    """Return rows of columns y that are at least each of several sums of counts, and their lower sides.

    Let G rows say that y is at least the sum of a group. Let another row say that the groups together need N + t y - s,
    with s >= 0 for its continuous columns. Then the largest group has at least (N - s) / (G - t), because y is at least
    as large. It has whole objects, each between a and b. So y / a is at least a whole number m with

        m >= u - s / d,    d = (G - t) b,  u = N / d,    so    y + a s / (d f) >= a ceil(u)

    by mixed-integer rounding, with the fraction f of u.
    """
    free = ~rows.counts
    paid = free & (rows.weight > 0)
    single = (rows.sums(paid.astype(np.float64)) == 1) & (rows.sums(free.astype(np.float64)) == 1)
    down = rows.most(np.where(rows.counts, rows.weight, 0.0)) <= 0
    none = np.abs(rows.need) <= ROUNDING * rows.most(np.where(paid, rows.weight, 0.0))
    of_group = single & down & none & (np.diff(rows.first) > 1)
    heads = np.flatnonzero(paid & of_group[rows.row] & (model.lower[rows.column] == 0.0))
    heads = heads[np.argsort(rows.column[heads], kind="stable")]
    maxima, begins = np.unique(rows.column[heads], return_index=True)
    against = np.flatnonzero(free & (rows.weight < 0) & np.isin(rows.column, maxima))
    of_y = dict[int, list[int]]()
    for y, row in zip(rows.column[against].tolist(), rows.row[against].tolist(), strict=True):
        of_y.setdefault(y, []).append(row)
    found, largest = list[tuple[Indices, Floats, float]](), np.zeros(len(model.cost))
    for y, first, last in zip(maxima.tolist(), begins, np.append(begins, len(heads))[1:], strict=True):
        own = heads[first:last]
        if len(own) < 2 or y not in of_y:
            continue
        groups = rows.row[own]
        mine = np.concatenate([np.arange(rows.first[r], rows.first[r + 1]) for r in groups])
        size = -rows.weight[mine] / np.repeat(rows.weight[own], np.diff(rows.first)[groups])
        counts = rows.counts[mine]
        size, column = size[counts], rows.column[mine[counts]]
        np.maximum.at(largest, column, size)
        several = (_least_maximum(rows, row, y, largest, size.min(), size.max(), len(own)) for row in of_y[y])
        found += [one for one in several if one is not None]
        found += [one for one in (_without_one(rows, row, y, largest) for row in of_y[y]) if one is not None]
        largest[column] = 0.0
    starts = np.cumsum([0, *(len(column) for column, _, _ in found)])
    column = np.concatenate([np.zeros(0, np.intp), *(column for column, _, _ in found)])
    weight = np.concatenate([np.zeros(0), *(weight for _, weight, _ in found)])
    matrix = sp.csr_array((weight, column, starts), shape=(len(found), len(model.cost)))
    return matrix, np.array([need for _, _, need in found]) + matrix @ model.lower


def _least_maximum(
    rows: _Rows, row: int, y: int, largest: Floats, a: float, b: float, groups: int
) -> tuple[Indices, Floats, float] | None:
    """Return the columns, weights and lower side of the row for y by the row `row`, which says what the groups need.

    None: it says nothing, or there is a count that weighs more in it than in its group.

    largest  (C,) the largest weight of each count in a group; 0 if it is in none
    a, b     the smallest and the largest of these
    """
    mine = slice(rows.first[row], rows.first[row + 1])
    column, weight, counts = rows.column[mine], rows.weight[mine], rows.counts[mine]
    if (counts & (weight > largest[column] * (1.0 + ROUNDING))).any():
        return None
    rest, need = groups + float(weight[column == y].sum()), float(rows.need[row])
    if need <= 0 or rest <= FRACTION_MIN:
        return None
    units = need / (rest * b)
    whole = np.ceil(units - FRACTION_MIN)
    f = min(units - whole + 1.0, 1.0)
    others = ~counts & (weight > 0)
    found = np.append(y, column[others]), np.append(1.0, a / (rest * b * f) * weight[others])
    return (*found, float(a * whole * (1.0 - ROUNDING)))


def _without_one(rows: _Rows, row: int, y: int, largest: Floats) -> tuple[Indices, Floats, float] | None:
    """Return the columns, weights and lower side of a row on what remains without the largest object; None: there is
    none.

    The row `row` says  w . k + s >= N + t y  with t >= 1, and y is at least as large as each object. So all objects but
    the largest bring N - s. Of each weight w no more than N matters. Then

        s + sum(w N / (N + w) k) >= N

    Proof: let the objects be w_1 >= w_2 >= ..., and T the sum of all but the first. If T >= N, smaller objects with
    T = N have a smaller sum. If T <= N, an object lacks w - w N / (N + w) = w^2 / (N + w) in the sum. All but the first
    lack at most T w_2 / (N + w_2) <= N w_1 / (N + w_1), which the first has in it. So the sum is at least T.
    """
    mine = slice(rows.first[row], rows.first[row + 1])
    column, weight, counts = rows.column[mine], rows.weight[mine], rows.counts[mine]
    need = float(rows.need[row])
    if (counts & (weight > largest[column] * (1.0 + ROUNDING))).any() or -float(weight[column == y].sum()) < 1.0:
        return None
    if need <= 0 or weight[counts].max(initial=0.0) * ALONE_UNITS <= need:
        return None
    own = weight > 0
    column, weight, counts = column[own], weight[own], counts[own]
    size = np.minimum(weight, need)
    return column, np.where(counts, size * (need / (need + size)), weight), need * (1.0 - ROUNDING)
