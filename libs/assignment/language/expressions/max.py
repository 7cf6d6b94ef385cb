"""Take the largest, or the n-th largest, of a row, of a column or of all elements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.expression import Expression, Shape, expression_of
from libs.assignment.language.specs.fields import member_of


class Over(StrEnum):
    """The elements among which to take a maximum."""

    ROWS = "ROWS"
    """One value per column."""
    COLUMNS = "COLUMNS"
    """One value per row."""
    ALL = "ALL"
    """One value."""


@dataclass(frozen=True, slots=True, eq=False)
class Max(Expression):
    """The n-th largest element; n = 0 is the largest."""

    child: Expression
    over: Over = Over.ALL
    n: int = 0

    def __post_init__(self) -> None:
        """Convert a word. Raises BadValues if there is no n-th element, and UnknownName for an unknown word."""
        rows, columns = expression_of(self.child).shape
        object.__setattr__(self, "over", member_of(Over, self.over, "Max: over"))
        among = {Over.ROWS: rows, Over.COLUMNS: columns, Over.ALL: rows * columns}[self.over]
        if not (isinstance(self.n, int | np.integer) and 0 <= self.n < among):
            raise BadValues(f"Max: n = {self.n!r}; there are {among} values, and 0 stands for the largest")

    @property
    def shape(self) -> Shape:
        """Return the shape: 1 for each direction in which the maximum is taken."""
        rows, columns = self.child.shape
        return 1 if self.over is not Over.COLUMNS else rows, 1 if self.over is not Over.ROWS else columns

    def children(self) -> tuple[Expression, ...]:
        """Return the only child."""
        return (self.child,)

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return the n-th largest elements, by sorting."""
        value = children[0]
        if self.over is Over.ALL:
            return np.asarray(np.sort(value, axis=None)[-1 - self.n]).reshape(1, 1)
        axis = 0 if self.over is Over.ROWS else 1
        return np.asarray(np.sort(value, axis=axis).take([-1 - self.n], axis=axis), dtype=np.float64)
