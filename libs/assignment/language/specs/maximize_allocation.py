"""MaximizeAllocationSpec: put as much as possible in certain scope items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MaximizeAllocationSpec(Spec):
    """- sum_i util[i] over the scope items that the filter keeps."""

    scope: str = CONTAINER
    dimension: str = COUNT
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        items = problem.scope(self.where, self.scope).items
        only = selection(self.filter.kept(self.where, items), len(items))
        return utilisation(problem, self.where, self.scope, self.dimension).mapped(rows=only).total() * -1.0

    def scale(self, problem: Problem) -> float:
        """Return the total demand: all objects in these items."""
        return dimension_total(problem, self.where, self.dimension)
