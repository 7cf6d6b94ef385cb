"""GroupDiversitySpec: bound the number of groups with objects in a scope item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class GroupDiversitySpec(Spec):
    """max(0, limit[i] - sum_g Step(util[i, g])) for each scope item i (MAX: sum - limit)."""

    partition: str
    scope: str = CONTAINER
    dimension: str = COUNT
    limit: Limit = Limit()
    bound: Bound = Bound.MIN
    filter: Filter = Filter()

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, 1)."""
        items = problem.scope(self.where, self.scope).items
        kept = self.filter.kept(self.where, items)
        util = utilisation(problem, self.where, self.scope, self.dimension, self.partition)
        groups = Step(util).over_columns().mapped(rows=selection(kept, len(items)))
        limit = self.limit.by_item(self.where, items)[kept]
        return (PositivePart(limit - groups if self.bound is Bound.MIN else groups - limit),)

    def scale(self, problem: Problem) -> float:
        """Return the sum of the kept items' limits: all of it missing."""
        items = problem.scope(self.where, self.scope).items
        kept = self.filter.kept(self.where, items)
        return float(np.abs(self.limit.by_item(self.where, items)[kept]).sum())
