"""Apply a function of one number to every element of a child."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.expression import Expression, Shape, expression_of


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise(Expression):
    """f(child), element by element.

    CODE       number of f in the compiled kernels
    parameter  second argument of f, if it has one
    """

    child: Expression
    CODE = 0

    def __post_init__(self) -> None:
        """Raise BadValues if the child is no expression."""
        expression_of(self.child)

    @property
    def shape(self) -> Shape:
        """Return the child's shape."""
        return self.child.shape

    @property
    def parameter(self) -> float:
        """Return the second argument of f."""
        return 0.0

    @staticmethod
    @abstractmethod
    def of(values: Floats, parameter: float) -> Floats:
        """Return f of each element of any array."""

    def children(self) -> tuple[Expression, ...]:
        """Return the only child."""
        return (self.child,)

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return f of the child's value."""
        return self.of(children[0], self.parameter)
