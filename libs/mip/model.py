"""Gather a linear or mixed-integer program block by block, and freeze it into a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from libs.domain.arrays import Bools, Floats

Indices = NDArray[np.intp]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """min cost @ x + offset  such that  row_lower <= matrix @ x <= row_upper, lower <= x <= upper.

    cost, lower, upper    (C,) float
    integer               (C,) bool
    row_lower, row_upper  (N,) float
    matrix                (N, C) sparse, by columns
    """

    cost: Floats
    lower: Floats
    upper: Floats
    integer: Bools
    row_lower: Floats
    row_upper: Floats
    matrix: sp.csc_array
    offset: float = 0.0

    def objective(self, x: Floats) -> float:
        """Return the cost of a point. The point need not satisfy the rows."""
        # not cost @ x: BLAS would wake a thread on every core for little work
        return float((self.cost * x).sum()) + self.offset

    def violation(self, x: Floats) -> float:
        """Return the largest amount by which a point breaks a row or a column bound; 0 if it breaks none."""
        activity = self.matrix @ x
        worst = [self.row_lower - activity, activity - self.row_upper, self.lower - x, x - self.upper]
        return max(0.0, *(float(part.max(initial=0.0)) for part in worst))


class Mip:
    """A model under construction, in blocks of columns or rows. Each block returns its indices as an array."""

    def __init__(self) -> None:
        self.columns = 0
        self.rows = 0
        self.offset = 0.0
        self._cost: list[Floats] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._integer: list[Bools] = []
        self._row_lower: list[Floats] = []
        self._row_upper: list[Floats] = []
        self._row: list[Indices] = []
        self._column: list[Indices] = []
        self._value: list[Floats] = []

    def add_columns(
        self,
        count: int,
        *,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: bool = False,
    ) -> Indices:
        """Add columns and return their (count,) indices. A scalar applies to all of them."""
        for gathered, value in ((self._cost, cost), (self._lower, lower), (self._upper, upper)):
            gathered.append(_spread(value, count))
        self._integer.append(np.full(count, integer))
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add_rows(
        self,
        count: int,
        *entries: tuple[ArrayLike, ArrayLike, ArrayLike],
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> Indices:
        """Add rows and return their (count,) indices.

        Entries are (row within the block, column, coefficient), broadcast together. Entries at the same place add up.
        """
        for row, column, value in entries:
            at, into, by = np.broadcast_arrays(np.asarray(row), np.asarray(column), np.asarray(value, np.float64))
            self._row.append(at.ravel() + self.rows)
            self._column.append(into.ravel())
            self._value.append(by.ravel())
        self._row_lower.append(_spread(lower, count))
        self._row_upper.append(_spread(upper, count))
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def build(self) -> Model:
        """Return the frozen model."""
        entries = (_joined(self._value, np.float64), (_joined(self._row, np.intp), _joined(self._column, np.intp)))
        return Model(
            cost=_joined(self._cost, np.float64),
            lower=_joined(self._lower, np.float64),
            upper=_joined(self._upper, np.float64),
            integer=_joined(self._integer, np.bool_),
            row_lower=_joined(self._row_lower, np.float64),
            row_upper=_joined(self._row_upper, np.float64),
            matrix=sp.csc_array(entries, shape=(self.rows, self.columns)),
            offset=self.offset,
        )


def _spread(value: ArrayLike, count: int) -> Floats:
    return np.array(np.broadcast_to(np.asarray(value, np.float64), (count,)))


def _joined(parts: list[NDArray[Scalar]], dtype: type[Scalar]) -> NDArray[Scalar]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)
