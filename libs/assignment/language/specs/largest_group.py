"""LargestGroupSpec: keep the largest group of each scope item small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class LargestGroupSpec(Spec):
    """sum_i max_g util[i, g]: the loss if every scope item loses its largest group.

    It is the price of surviving that loss. SingleGroupFailureBufferSpec requires capacity beyond it. Source: RAS,
    expression 4.
    """

    partition: str
    scope: str = CONTAINER
    dimension: str = COUNT
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        items = problem.scope(self.where, self.scope).items
        only = selection(self.filter.kept(self.where, items), len(items))
        parts = utilisation(problem, self.where, self.scope, self.dimension, self.partition).mapped(rows=only)
        return Max(parts, Over.COLUMNS).total()

    def scale(self, problem: Problem) -> float:
        """Return the total demand. It is the value if all objects are in the largest groups."""
        return dimension_total(problem, self.where, self.dimension)
