"""SingleGroupFailureBufferSpec: keep enough after the failure of any one group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.limit import Limit, LimitType
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class SingleGroupFailureBufferSpec(Spec):
    """max(0, limit[i] - (util[i] - max_g util[i, g])) for each scope item i: its lack after losing its largest group.

    A RELATIVE limit is a share of the item's capacity. Source: Rebalancer, table 1; RAS, expression 6.
    """

    partition: str
    scope: str = CONTAINER
    dimension: str = COUNT
    limit: Limit = Limit(type=LimitType.RELATIVE)
    filter: Filter = Filter()

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, 1)."""
        items = problem.scope(self.where, self.scope).items
        kept = self.filter.kept(self.where, items)
        only = selection(kept, len(items))
        whole = utilisation(problem, self.where, self.scope, self.dimension).mapped(rows=only)
        parts = utilisation(problem, self.where, self.scope, self.dimension, self.partition).mapped(rows=only)
        return (PositivePart(Max(parts, Over.COLUMNS) - whole + self._wanted(problem)[kept]),)

    def scale(self, problem: Problem) -> float:
        """Return the sum of the kept items' limits: all of it missing."""
        kept = self.filter.kept(self.where, problem.scope(self.where, self.scope).items)
        return float(np.abs(self._wanted(problem)[kept]).sum())

    def _wanted(self, problem: Problem) -> Floats:
        limit = self.limit.by_item(self.where, problem.scope(self.where, self.scope).items)
        if self.limit.type is LimitType.RELATIVE:
            limit = limit * problem.capacity(self.where, self.dimension, self.scope)
        return limit
