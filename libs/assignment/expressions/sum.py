"""Linear expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from libs.assignment.arrays import Floats, Ints
from libs.assignment.errors import BadValues
from libs.assignment.expressions.constant import Constant
from libs.assignment.expressions.expression import Expression, Shape
from libs.assignment.matrices import Matrix, csr


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """coefficient * rows @ child @ columns.T; a map of None is the identity.

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

    shape: Shape = field()  # spelt out, or the property that it stands in for would be its default
    terms: tuple[Term, ...]

    def children(self) -> tuple[Expression, ...]:
        """One per term."""
        return tuple(term.child for term in self.terms)

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Term by term."""
        total = np.zeros(self.shape)
        for term, value in zip(self.terms, children, strict=True):
            over = value if term.rows is None else term.rows @ value
            total += term.coefficient * (over if term.columns is None else over @ term.columns.T)
        return total


def as_map(given: object) -> Matrix | None:
    """A matrix as a sparse one."""
    return None if given is None else csr(given)


def added(left: Expression, right: Expression | ArrayLike, sign: float) -> Sum:
    """Left + sign * right; a side with one row or one column counts for all of the other's."""
    other = right if isinstance(right, Expression) else Constant.of(right)
    shape = _joint(left.shape, other.shape)
    return Sum(shape, (*_spread(left, shape, 1.0), *_spread(other, shape, sign)))


def sum_of(expressions: tuple[Expression, ...]) -> Expression:
    """The sum of expressions of one shape."""
    if len(expressions) == 1:
        return expressions[0]
    return Sum(expressions[0].shape, tuple(Term(one, 1.0) for one in expressions))


def _joint(one: Shape, other: Shape) -> Shape:
    for a, b in zip(one, other, strict=True):
        if a != b and 1 not in (a, b):
            raise BadValues(f"expressions of shapes {one} and {other} do not add up")
    return max(one[0], other[0]), max(one[1], other[1])


def _spread(expression: Expression, shape: Shape, sign: float) -> tuple[Term, ...]:
    if expression.shape == shape:
        if isinstance(expression, Sum):
            return tuple(Term(t.child, sign * t.coefficient, t.rows, t.columns) for t in expression.terms)
        return (Term(expression, sign),)
    rows = None if expression.shape[0] == shape[0] else as_map(np.ones((shape[0], 1)))
    columns = None if expression.shape[1] == shape[1] else as_map(np.ones((shape[1], 1)))
    return (Term(expression, sign, rows, columns),)
