"""A constant array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.arrays import Floats, Ints
from libs.assignment.expressions.expression import Expression, Shape
from libs.assignment.matrices import Matrix, csr


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expression):
    """by_row[r] + by_column[c] + pairs[r, c]: a limit per scope item, per group, or for some pairs, never written out.

    by_row     (rows,)
    by_column  (columns,)
    pairs      (rows, columns) sparse, or None
    """

    by_row: Floats
    by_column: Floats
    pairs: Matrix | None = None

    @property
    def shape(self) -> Shape:
        """(rows, columns)."""
        return len(self.by_row), len(self.by_column)

    @classmethod
    def of(cls, given: ArrayLike) -> Constant:
        """A number as (1, 1), (rows,) or (rows, 1), (1, columns), or a whole (rows, columns) array."""
        values = np.asarray(given, dtype=np.float64)
        if values.ndim < 2:
            values = values.reshape(-1, 1)
        if values.shape[1] == 1:
            return cls(values[:, 0].copy(), np.zeros(1))
        if values.shape[0] == 1:
            return cls(np.zeros(1), values[0].copy())
        return cls(np.zeros(values.shape[0]), np.zeros(values.shape[1]), csr(values))

    def children(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """The array, written out."""
        whole = self.by_row[:, None] + self.by_column[None, :]
        return whole if self.pairs is None else np.asarray(whole + self.pairs.toarray())
