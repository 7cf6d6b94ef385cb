"""ToFreeSpec: empty certain scope items."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import selection
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


class ToFreeFormula(StrEnum):
    """The measure of a scope item that is not empty yet."""

    UTILIZATION = "UTILIZATION"
    """The utilisation of the item."""
    OCCUPIED = "OCCUPIED"
    """1, for any utilisation above 0."""


@spec
class ToFreeSpec(Spec):
    """util[i], or Step(util[i]) for OCCUPIED, for each named scope item i."""

    items: Sequence[str | int]
    scope: str = CONTAINER
    dimension: str = COUNT
    formula: ToFreeFormula = ToFreeFormula.UTILIZATION

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (items, 1)."""
        scope = problem.scope(self.where, self.scope)
        named = np.unique(scope.items.indices(f"{self.where}, items", self.items))
        held = utilisation(problem, self.where, self.scope, self.dimension)
        left = held.mapped(rows=selection(named, len(scope)))
        return (PositivePart(left) if self.formula is ToFreeFormula.UTILIZATION else Step(left),)

    def scale(self, problem: Problem) -> float:
        """Return the cost at the start."""
        value = self.cost(problem).value(problem.initial)
        return float(value[0, 0])
