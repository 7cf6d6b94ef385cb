"""Arrays whose elements are linear in the model's columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.expressions.expression import Shape
from libs.assignment.language.matrices import Matrix, csr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Affine:
    """matrix @ x + constant for the elements that any column touches; the others are numbers.

    shape     of the whole array
    keys      (E,) row * columns + column of the elements that columns touch, rising
    matrix    (E, C)
    constant  (E,)
    error     (E,) by how much an element may differ from what it stands for
    rest      (rows * columns,) all the other elements' values; None where there are too many to keep
    """

    shape: Shape
    keys: Ints
    matrix: Matrix
    constant: Floats
    error: Floats
    rest: Floats | None

    def at(self, point: Floats) -> Floats:
        """(E,) its values at a point of the model."""
        return np.asarray(self.matrix @ point[: self.matrix.shape[1]] + self.constant)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Image:
    """What a function makes of (E,) elements: columns of their own, copies of the argument, or numbers.

    column    (E,) the column that holds an element's value; -1: none
    copied    (E,) the value is the argument's own
    constant  (E,) added to either
    error     (E,) by how much the value may be wrong
    """

    column: Ints
    copied: Bools
    constant: Floats
    error: Floats

    def of(self, x: Affine, width: int) -> tuple[Matrix, Floats]:
        """(E, width) and (E,): the value as a linear function."""
        own = np.flatnonzero(self.column >= 0)
        ones = csr((np.ones(len(own)), (own, self.column[own])), shape=(len(self.column), width))
        if not self.copied.any():
            return ones, self.constant
        by = x.matrix.data * np.repeat(self.copied, np.diff(x.matrix.indptr))
        keep = csr((by, x.matrix.indices.copy(), x.matrix.indptr.copy()), shape=(len(self.column), width))
        keep.eliminate_zeros()
        return csr(ones + keep), self.constant + np.where(self.copied, x.constant, 0.0)
