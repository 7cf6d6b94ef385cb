"""Build the model: columns with bounds, rows with names, and the completion of a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.affine import Affine
from libs.assignment.model.counts import Counts
from libs.mip.model import Mip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowBlock:
    """Rows first..last-1 of the model: their meaning (`what`), their specs (`name`) and their elements.

    keys     (last - first,) row * columns + column of the array element of each row
    columns  of that array
    """

    name: str
    what: str
    first: int
    last: int
    keys: Ints
    columns: int


class Completion(Protocol):
    """Columns whose values follow from earlier columns."""

    def fill(self, point: Floats) -> None:
        """Set these columns of the point to their cheapest values, given its earlier columns."""


class Assembly:
    """A model under construction. Columns 0..Q-1 are counts; every later column follows from earlier ones.

    steps  (matrix, y): y = 1 if the row, of counts with positive coefficients, is above 0
    limits (name, matrix, limit, excess, keys, columns): limits on rows of counts without negative coefficients; excess
           is the column of the amount above the limit, or -1
    named  every element of a spec gets its own rows with its name, even if it needs none
    """

    def __init__(self, counts: Counts, size: Ints, *, named: bool = False) -> None:
        self.mip = Mip()
        self.counts, self.size = counts, size
        self.least, self.most = np.zeros(0), np.zeros(0)
        self.whole: Bools = np.zeros(0, dtype=np.bool_)
        self.blocks: list[RowBlock] = []
        self.completions: list[Completion] = []
        self.sound, self.named = True, named
        self.steps: list[tuple[Matrix, Ints]] = []
        self.limits: list[tuple[str, Matrix, Floats, Ints, Ints, int]] = []
        self._columns_of_class = np.bincount(counts.kind, minlength=len(size))
        most = np.minimum(counts.most, size[counts.kind])
        self.add_columns(len(counts.kind), least=0.0, most=most, integer=True)
        self.add_rows(
            "objects",
            "each is in one container",
            np.arange(len(size)),
            1,
            (counts.kind, np.arange(len(counts.kind)), 1.0),
            lower=size,
            upper=size,
        )

    @property
    def width(self) -> int:
        """Return the number of columns so far."""
        return self.mip.columns

    def add_columns(self, count: int, *, least: ArrayLike, most: ArrayLike, integer: bool = False) -> Ints:
        """Add columns with bounds, and return their indices."""
        low = np.broadcast_to(np.asarray(least, np.float64), (count,))
        high = np.broadcast_to(np.asarray(most, np.float64), (count,))
        self.least, self.most = np.append(self.least, low), np.append(self.most, high)
        self.whole = np.append(self.whole, np.full(count, integer))
        return self.mip.add_columns(count, lower=low, upper=high, integer=integer)

    def add_rows(
        self,
        name: str,
        what: str,
        keys: Ints,
        columns: int,
        *entries: tuple[ArrayLike, ArrayLike, ArrayLike],
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add one row per key."""
        if not len(keys):
            return
        self.mip.add_rows(len(keys), *entries, lower=lower, upper=upper)
        last = self.mip.rows
        self.blocks.append(
            RowBlock(name=name, what=what, first=last - len(keys), last=last, keys=keys, columns=columns)
        )

    def bounds(self, matrix: Matrix, constant: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of linear functions, (E,) each.

        Counts of one class share its objects: together they add at most `size` times the largest coefficient.
        """
        rows = csr(matrix)
        rows.sort_indices()
        element = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        column, by = rows.indices.astype(np.int64), rows.data
        counted = column < len(self.counts.kind)
        other = ~counted
        low = np.where(by > 0, self.least[column], self.most[column]) * by
        high = np.where(by > 0, self.most[column], self.least[column]) * by
        least = constant + np.bincount(element[other], low[other], rows.shape[0])
        most = constant + np.bincount(element[other], high[other], rows.shape[0])
        if counted.any():
            element, column, by, low, high = (each[counted] for each in (element, column, by, low, high))
            kind = self.counts.kind[column]
            new = np.append(True, (element[1:] != element[:-1]) | (kind[1:] != kind[:-1]))
            first = np.flatnonzero(new)
            size = self.size[kind[first]].astype(np.float64)
            whole = np.diff(np.append(first, len(by))) == self._columns_of_class[kind[first]]
            smallest, largest = np.minimum.reduceat(by, first), np.maximum.reduceat(by, first)
            smallest = size * np.where(whole, smallest, np.minimum(smallest, 0.0))
            largest = size * np.where(whole, largest, np.maximum(largest, 0.0))
            smallest = np.maximum(smallest, np.add.reduceat(low, first))
            largest = np.minimum(largest, np.add.reduceat(high, first))
            least += np.bincount(element[first], smallest, rows.shape[0])
            most += np.bincount(element[first], largest, rows.shape[0])
        return least, most

    def bounds_of(self, x: Affine) -> tuple[Floats, Floats]:
        """Return the least and the greatest value of each element, (E,) each."""
        return self.bounds(x.matrix, x.constant)


def entries_of(matrix: Matrix, some: Ints, sign: float = 1.0) -> tuple[Ints, Ints, Floats]:
    """Return rows `some` of a matrix as (row within the block, column, coefficient)."""
    rows = csr(matrix)[some]
    return np.repeat(np.arange(len(some)), np.diff(rows.indptr)), rows.indices.astype(np.int64), sign * rows.data
