"""UtilIncreaseCostSpec: prefer scope items with room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import relative_utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class UtilIncreaseCostSpec(Spec):
    """sum_i max(0, rel[i] - lower_bound) ** 2, with rel[i] = util[i] / capacity[i]: additions cost more in fuller
    items.

    Without `squares` the excess itself counts. Source: Rebalancer, 2.3.
    """

    dimension: str
    scope: str = CONTAINER
    lower_bound: float = 0.0
    squares: bool = True
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        rel, _ = relative_utilisation(problem, self.where, self.scope, self.dimension, self.filter)
        excess = rel - self.lower_bound
        return (Power(excess, 2.0) if self.squares else PositivePart(excess)).total()

    def scale(self, problem: Problem) -> float:
        """Return the number of scope items with capacity: about the cost if all are full."""
        _, capacity = relative_utilisation(problem, self.where, self.scope, self.dimension, self.filter)
        return float(len(capacity))
