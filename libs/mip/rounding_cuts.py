"""Cut off fractions: rows and bounds that all points with whole numbers keep.

A program of one container with few objects has a weak relaxation: it takes a thin slice of many classes. Then the
largest group is almost nothing, and no group has an excess. Branch and bound would need a node for each class to see
that a whole object is in some group. The rows and bounds here say it at once.

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
ROUNDING = 1e-7
"""By how much a cut is looser than the arithmetic says, for rounding in sums of floats."""


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


def with_rounding_cuts(model: Model) -> Model:
    """Return `model` with more rows and narrower bounds, which all its points with whole numbers keep.

    The lower bounds of columns must be finite, and those of integer columns whole.
    """
    rows = _Rows.of(model)
    lower = model.lower.copy()
    for column, least in _least_maxima(model, rows):
        lower[column] = max(lower[column], min(least, model.upper[column]))
    blocks, needs = [sp.csr_array(model.matrix)], [model.row_lower]
    size = np.where(rows.counts, np.abs(rows.weight), 0.0)
    largest = rows.most(size)
    smallest = largest - rows.most(np.where(rows.counts, largest[rows.row] - size, 0.0))
    for unit, some in ((largest, largest > 0), (smallest, (smallest > 0) & (smallest < largest))):
        matrix, need = _rounded(model, rows, unit, some)
        blocks.append(matrix)
        needs.append(need)
    added = sum(len(need) for need in needs[1:])
    return replace(
        model,
        lower=lower,
        matrix=sp.csc_array(sp.vstack(blocks)),
        row_lower=np.concatenate(needs),
        row_upper=np.concatenate([model.row_upper, np.full(added, np.inf)]),
    )


def _rounded(model: Model, rows: _Rows, unit: Floats, some: Bools) -> tuple[sp.csr_array, Floats]:
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
    some &= np.maximum(np.abs(rows.need), rows.most(np.where(rows.counts, np.abs(rows.weight), 0.0))) < UNITS_MAX * unit
    kept = some[rows.row] & (rows.counts | paid)
    row, weight, column = rows.row[kept], rows.weight[kept], rows.column[kept]
    counts = rows.counts[kept]
    shares = np.divide(weight, unit[row], out=np.zeros_like(weight), where=counts)
    whole = np.floor(shares)
    g = f[row] * whole + np.minimum(f[row], shares - whole)
    weight = np.where(counts, unit[row] * g, weight)
    need = unit * f * np.ceil(divided)
    need += np.bincount(row, weight * model.lower[column], len(need))
    number = np.cumsum(some) - 1
    chosen = np.flatnonzero(some)
    matrix = sp.csr_array((weight, (number[row], column)), shape=(len(chosen), len(model.cost)))
    matrix.eliminate_zeros()
    return matrix, need[chosen] - ROUNDING * np.maximum(1.0, np.abs(need[chosen]))


def _least_maxima(model: Model, rows: _Rows) -> list[tuple[int, float]]:
    """Return columns y that are at least each of several sums of counts, and the least value of each.

    Let G rows say that y is at least the sum of a group, and let the groups together need N + t y. Then the largest
    group has at least L = N / (G - t), because y is at least as large. It has whole objects, each between a and b. So
    y is at least a ceil(L / b) too.
    """
    free = ~rows.counts
    paid = free & (rows.weight > 0)
    single = (rows.sums(paid.astype(np.float64)) == 1) & (rows.sums(free.astype(np.float64)) == 1)
    down = rows.most(np.where(rows.counts, rows.weight, 0.0)) <= 0
    of_group = single & down & (np.abs(rows.need) <= ROUNDING) & (np.diff(rows.first) > 1)
    heads = np.flatnonzero(paid & of_group[rows.row] & (model.lower[rows.column] == 0.0))
    found = []
    for y in np.flatnonzero(np.bincount(rows.column[heads], minlength=len(model.cost)) > 1).tolist():
        own = heads[rows.column[heads] == y]
        unit = np.zeros(len(rows.need))
        unit[rows.row[own]] = rows.weight[own]
        mine = np.flatnonzero((unit[rows.row] > 0) & rows.counts)
        size = -rows.weight[mine] / unit[rows.row[mine]]
        largest = np.zeros(len(model.cost))
        np.maximum.at(largest, rows.column[mine], size)
        against = rows.row[(rows.column == y) & (rows.weight < 0)].tolist()
        least = max((_needed(model, rows, row, y, largest, len(own)) for row in against), default=0.0)
        if least > ROUNDING:
            objects = np.ceil(least / size.max() - FRACTION_MIN)
            found.append((y, float(max(least, objects * size.min()) * (1.0 - ROUNDING))))
    return found


def _needed(model: Model, rows: _Rows, row: int, y: int, largest: Floats, groups: int) -> float:
    """Return L of the largest of `groups` groups by the row `row`, in which y has a negative weight; 0: nothing.

    largest  (C,) the largest weight of each count in a group; 0 if it is in none
    """
    mine = slice(rows.first[row], rows.first[row + 1])
    column, weight, counts = rows.column[mine], rows.weight[mine], rows.counts[mine]
    if (counts & (weight > largest[column] * (1.0 + ROUNDING))).any():
        return 0.0
    others = ~counts & (weight > 0)
    spare = float((weight[others] * (model.upper - model.lower)[column[others]]).sum())
    share = float(-weight[column == y].sum())
    needed = float(rows.need[row]) - spare
    return needed / (groups - share) if needed > 0 and groups > share else 0.0
