"""MinimizeNthLargestUtilizationSpec: reduce the utilisation of the n-th fullest scope item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import relative_utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MinimizeNthLargestUtilizationSpec(Spec):
    """max(0, rel - target) of the scope item with the n-th largest rel[i] = util[i] / capacity[i]; n = 0: the
    fullest.
    """

    dimension: str
    scope: str = CONTAINER
    n: int = 0
    target: float = 0.0
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        rel, _ = relative_utilisation(problem, self.where, self.scope, self.dimension, self.filter)
        return PositivePart(Max(rel, n=self.n) - self.target)

    def scale(self, problem: Problem) -> float:
        """Return 1: a full scope item."""
        return 1.0
