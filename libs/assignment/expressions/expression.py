"""An expression: a value of shape (rows, columns), computed from an assignment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.arrays import Floats, Ints
from libs.assignment.errors import ModelError

if TYPE_CHECKING:
    from libs.assignment.expressions.sum import Sum

Shape = tuple[int, int]
DENSE_MAX = 50_000_000
"""Elements that `value` may hold: it is for explaining and checking; the compiled graph is what scales."""


class Expression(ABC):
    """A node of the graph. Rows are scope items, columns are groups; either may be 1.

    Nodes hold arrays and are compared by identity: use one node twice to share it.
    """

    __array_ufunc__ = None
    """Arrays leave arithmetic with expressions to them."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """(rows, columns)."""

    @abstractmethod
    def children(self) -> tuple[Expression, ...]:
        """The nodes that this one is computed from."""

    @abstractmethod
    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """(rows, columns) its value, given the container of each object (N,) and the values of the children."""

    def value(self, assignment: Ints) -> Floats:
        """(rows, columns) computed from nothing but the assignment; every shared node once."""
        known: dict[int, Floats] = {}

        def value(node: Expression) -> Floats:
            if id(node) not in known:
                if node.shape[0] * node.shape[1] > DENSE_MAX:
                    raise ModelError(f"an expression of shape {node.shape} is too large to write out in full")
                known[id(node)] = node.value_of(assignment, tuple(value(child) for child in node.children()))
            return known[id(node)]

        return value(self)

    def __add__(self, other: Expression | float | Floats) -> Sum:
        from libs.assignment.expressions.sum import added

        return added(self, other, 1.0)

    def __sub__(self, other: Expression | float | Floats) -> Sum:
        from libs.assignment.expressions.sum import added

        return added(self, other, -1.0)

    def __rsub__(self, other: float | Floats) -> Sum:
        from libs.assignment.expressions.constant import Constant
        from libs.assignment.expressions.sum import added

        return added(Constant.of(other), self, -1.0)

    def __mul__(self, factor: float) -> Sum:
        from libs.assignment.expressions.sum import Sum, Term

        return Sum(self.shape, (Term(self, float(factor)),))

    def total(self) -> Sum:
        """(1, 1) the sum of all elements."""
        return self.over_rows().over_columns()

    def over_rows(self) -> Sum:
        """(1, columns) summed over the rows."""
        return self.mapped(rows=np.ones((1, self.shape[0])))

    def over_columns(self) -> Sum:
        """(rows, 1) summed over the columns."""
        return self.mapped(columns=np.ones((1, self.shape[1])))

    def scaled(self, *, rows: ArrayLike | None = None, columns: ArrayLike | None = None) -> Sum:
        """Each row, and each column, multiplied by a number of its own."""
        from scipy import sparse

        return self.mapped(
            rows=None if rows is None else sparse.diags_array(np.asarray(rows, dtype=np.float64)),
            columns=None if columns is None else sparse.diags_array(np.asarray(columns, dtype=np.float64)),
        )

    def mapped(self, *, rows: object = None, columns: object = None) -> Sum:
        """Rows @ value @ columns.T, for matrices (sparse where large) from old rows or columns to new ones."""
        from libs.assignment.expressions.sum import Sum, Term, as_map

        over, across = as_map(rows), as_map(columns)
        shape = (
            self.shape[0] if over is None else over.shape[0],
            self.shape[1] if across is None else across.shape[0],
        )
        return Sum(shape, (Term(self, 1.0, over, across),))
