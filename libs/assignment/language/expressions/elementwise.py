"""Functions of one number, applied to every element of a child."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.expression import Expression, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Elementwise(Expression):
    """f(child), element by element.

    CODE       how the compiled kernels know f
    parameter  of f, where it has one
    """

    child: Expression
    CODE = 0

    @property
    def shape(self) -> Shape:
        """The child's."""
        return self.child.shape

    @property
    def parameter(self) -> float:
        """What f needs besides its argument."""
        return 0.0

    @staticmethod
    @abstractmethod
    def of(values: Floats, parameter: float) -> Floats:
        """F of any array."""

    def children(self) -> tuple[Expression, ...]:
        """The one."""
        return (self.child,)

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """F of the child's value."""
        return self.of(children[0], self.parameter)
