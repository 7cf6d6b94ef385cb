"""Define expressions: values of shape (rows, columns) computed from an assignment; and the linear ones.

They share one file because they depend on each other: a sum of expressions is an expression.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from libs.assignment.language.arrays import Floats, Ints, finite
from libs.assignment.language.errors import BadValues, ModelError
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.language.specs.fields import is_finite

Shape = tuple[int, int]
DENSE_MAX = 50_000_000
"""Most elements of `value`. It is for explanations and checks; large problems use the compiled graph."""


class Expression(ABC):
    """A node of the graph. Rows are scope items, columns are groups; each may be 1. Arithmetic makes a Sum.

    Nodes hold arrays and are compared by identity. Use one node twice to share it.
    """

    __array_ufunc__ = None
    """Tells NumPy to leave arithmetic with expressions to this class."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Return (rows, columns)."""

    @abstractmethod
    def children(self) -> tuple[Expression, ...]:
        """Return the child nodes."""

    @abstractmethod
    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return (rows, columns): the value, given each object's container (N,) and the children's values."""

    def value(self, assignment: Ints) -> Floats:
        """Return (rows, columns), computed from the assignment alone. Each shared node is computed once."""
        known: dict[int, Floats] = {}

        def value(node: Expression) -> Floats:
            if id(node) not in known:
                if node.shape[0] * node.shape[1] > DENSE_MAX:
                    raise ModelError(
                        f"an expression of shape {node.shape} is too large to evaluate; take it over fewer groups"
                    )
                known[id(node)] = node.value_of(assignment, tuple(value(child) for child in node.children()))
            return known[id(node)]

        return value(self)

    def __add__(self, other: Expression | float | Floats) -> Sum:
        return added(self, other, 1.0)

    def __sub__(self, other: Expression | float | Floats) -> Sum:
        return added(self, other, -1.0)

    __radd__ = __add__

    def __rsub__(self, other: float | Floats) -> Sum:
        return added(Constant.of(other), self, -1.0)

    def __mul__(self, factor: float) -> Sum:
        if not is_finite(factor):
            raise BadValues(f"an expression times {factor!r}; expected a finite number (a row has its own by `scaled`)")
        return Sum(self.shape, (Term(self, float(factor)),))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Sum:
        if not is_finite(divisor) or divisor == 0:
            raise BadValues(f"an expression divided by {divisor!r}; expected a finite number other than 0")
        return self * (1.0 / divisor)

    def __neg__(self) -> Sum:
        return self * -1.0

    def total(self) -> Sum:
        """Return the sum of all elements, (1, 1)."""
        return self.over_rows().over_columns()

    def over_rows(self) -> Sum:
        """Return the sum over the rows, (1, columns)."""
        return self.mapped(rows=np.ones((1, self.shape[0])))

    def over_columns(self) -> Sum:
        """Return the sum over the columns, (rows, 1)."""
        return self.mapped(columns=np.ones((1, self.shape[1])))

    def scaled(self, *, rows: ArrayLike | None = None, columns: ArrayLike | None = None) -> Sum:
        """Return the expression with each row, and each column, multiplied by its own number."""
        return self.mapped(
            rows=None if rows is None else _diagonal(rows),
            columns=None if columns is None else _diagonal(columns),
        )

    def mapped(self, *, rows: object = None, columns: object = None) -> Sum:
        """Return rows @ value @ columns.T. The matrices map old rows or columns to new ones. Pass large matrices as
        sparse.
        """
        over, across = as_map(rows), as_map(columns)
        shape = (
            self.shape[0] if over is None else over.shape[0],
            self.shape[1] if across is None else across.shape[0],
        )
        return Sum(shape, (Term(self, 1.0, over, across),))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expression):
    """by_row[r] + by_column[c] + pairs[r, c]: a limit per scope item, per group or for some pairs, in factors.

    by_row     (rows,)
    by_column  (columns,)
    pairs      (rows, columns) sparse, or None
    """

    by_row: Floats
    by_column: Floats
    pairs: Matrix | None = None

    def __post_init__(self) -> None:
        """Raise BadValues for numbers that are not finite."""
        for values in (self.by_row, self.by_column, *([] if self.pairs is None else [self.pairs.data])):
            finite("a constant of an expression", values, signed=True)

    @property
    def shape(self) -> Shape:
        """Return (rows, columns)."""
        return len(self.by_row), len(self.by_column)

    @classmethod
    def of(cls, given: ArrayLike) -> Constant:
        """Return a constant from a number or an array of shape (rows,), (rows, 1), (1, columns) or (rows, columns)."""
        values = _numbers("a constant of an expression", given)
        if values.ndim < 2:
            values = values.reshape(-1, 1)
        if values.shape[1] == 1:
            return cls(values[:, 0].copy(), np.zeros(1))
        if values.shape[0] == 1:
            return cls(np.zeros(1), values[0].copy())
        return cls(np.zeros(values.shape[0]), np.zeros(values.shape[1]), csr(values))

    def children(self) -> tuple[Expression, ...]:
        """Return no children."""
        return ()

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return the whole array."""
        whole = self.by_row[:, None] + self.by_column[None, :]
        return whole if self.pairs is None else np.asarray(whole + self.pairs.toarray())


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term of a sum: coefficient * rows @ child @ columns.T. A map of None is the identity.

    rows     (rows, child's rows)
    columns  (columns, child's columns)
    """

    child: Expression
    coefficient: float
    rows: Matrix | None = None
    columns: Matrix | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Expression):
    """The sum of terms of one shape. Every linear map is a product of one over rows and one over columns."""

    shape: Shape = field()  # a field of its own, or its default would be the property of the base class
    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        """Raise BadValues for a map that does not fit its expression."""
        for term in self.terms:
            for by, had, has in zip((term.rows, term.columns), term.child.shape, self.shape, strict=True):
                shape = (had, had) if by is None else by.shape
                if shape != (has, had):
                    raise BadValues(f"a map of an expression has shape {shape}; expected {(has, had)}")

    def children(self) -> tuple[Expression, ...]:
        """Return one child per term."""
        return tuple(term.child for term in self.terms)

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return the sum of the terms' values."""
        total = np.zeros(self.shape)
        for term, value in zip(self.terms, children, strict=True):
            over = value if term.rows is None else term.rows @ value
            total += term.coefficient * (over if term.columns is None else over @ term.columns.T)
        return total


def as_map(given: Any) -> Matrix | None:
    """Return a matrix as a sparse one; None stays None."""
    if given is None:
        return None
    matrix = csr(given if sparse.issparse(given) else _numbers("a map of an expression", given, least=2))
    finite("a map of an expression", matrix.data, signed=True)
    return matrix


def expression_of(given: object) -> Expression:
    """Return `given`. Raises BadValues if it is no expression."""
    if not isinstance(given, Expression):
        raise BadValues(f"{given!r} is no expression; numbers become one by Constant.of")
    return given


def _numbers(where: str, given: ArrayLike, *, least: int = 0) -> Floats:
    """Return an array of `least` to two dimensions."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadValues(f"{where}: expected numbers: {error}") from error
    if not least <= values.ndim <= 2:
        raise BadValues(f"{where}: an array of shape {values.shape}; expected rows and columns")
    return values


def _diagonal(given: ArrayLike) -> Matrix:
    """Return a diagonal matrix (n, n), also for n = 0."""
    values = _numbers("factors of an expression", given).ravel()
    each = np.arange(len(values))
    return csr((values, (each, each)), shape=(len(values), len(values)))


def added(left: Expression, right: Expression | ArrayLike, sign: float) -> Sum:
    """Return left + sign * right. One row or one column is repeated to match the other side."""
    other = right if isinstance(right, Expression) else Constant.of(right)
    shape = _joint(left.shape, other.shape)
    return Sum(shape, (*_spread(left, shape, 1.0), *_spread(other, shape, sign)))


def sum_of(expressions: tuple[Expression, ...], shape: Shape = (1, 1)) -> Expression:
    """Return the sum of expressions of one shape; zeros of that shape without any."""
    if len(expressions) == 1:
        return expressions[0]
    return Sum(shape, tuple(Term(one, 1.0) for one in expressions))


def _joint(one: Shape, other: Shape) -> Shape:
    for a, b in zip(one, other, strict=True):
        if a != b and 1 not in (a, b):
            raise BadValues(f"cannot add expressions of shapes {one} and {other}; lengths must be equal, or 1")
    # one row or column repeated zero times gives none
    rows, columns = (a if b == 1 else b for a, b in zip(one, other, strict=True))
    return rows, columns


def _spread(expression: Expression, shape: Shape, sign: float) -> tuple[Term, ...]:
    if expression.shape == shape:
        if isinstance(expression, Sum):
            return tuple(Term(t.child, sign * t.coefficient, t.rows, t.columns) for t in expression.terms)
        return (Term(expression, sign),)
    rows = None if expression.shape[0] == shape[0] else as_map(np.ones((shape[0], 1)))
    columns = None if expression.shape[1] == shape[1] else as_map(np.ones((shape[1], 1)))
    return (Term(expression, sign, rows, columns),)
