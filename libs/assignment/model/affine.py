"""Represent arrays whose elements are linear in the model's columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.expressions.expression import Shape
from libs.assignment.language.matrices import Matrix, csr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Affine:
    """matrix @ x + constant for the elements that depend on columns; the others are numbers.

    shape     of the whole array
    keys      (E,) row * columns + column of the elements that depend on columns, rising
    matrix    (E, C)
    constant  (E,)
    error     (E,) largest difference between an element and the expression that it models
    rest      (rows * columns,) values of all other elements; None if there are too many to keep
    """

    shape: Shape
    keys: Ints
    matrix: Matrix
    constant: Floats
    error: Floats
    rest: Floats | None

    def at(self, point: Floats) -> Floats:
        """Return the values of the elements at a point of the model, (E,)."""
        return np.asarray(self.matrix @ point[: self.matrix.shape[1]] + self.constant)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Image:
    """The value of a function of (E,) elements: columns of their own, copies of the argument, or numbers.

    column    (E,) the column with an element's value; -1: none
    copied    (E,) the value is the argument's own
    constant  (E,) added to either
    error     (E,) largest error of the value
    """

    column: Ints
    copied: Bools
    constant: Floats
    error: Floats

    def of(self, x: Affine, width: int) -> tuple[Matrix, Floats]:
        """Return the value as a linear function: (E, width) and (E,)."""
        own = np.flatnonzero(self.column >= 0)
        ones = csr((np.ones(len(own)), (own, self.column[own])), shape=(len(self.column), width))
        if not self.copied.any():
            return ones, self.constant
        by = x.matrix.data * np.repeat(self.copied, np.diff(x.matrix.indptr))
        keep = csr((by, x.matrix.indices.copy(), x.matrix.indptr.copy()), shape=(len(self.column), width))
        keep.eliminate_zeros()
        return csr(ones + keep), self.constant + np.where(self.copied, x.constant, 0.0)
