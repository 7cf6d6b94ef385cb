"""GroupMoveLimitSpec: bound the moves of each group."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.limit import Limit, LimitType
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, largest_values, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


class Aggregate(StrEnum):
    """The way from the groups' excess to one number."""

    SUM = "SUM"
    """The sum over all groups."""
    MAX = "MAX"
    """The worst group."""


@spec
class GroupMoveLimitSpec(Spec):
    """max(0, moved[g] - limit[g]) for each group g; moved is the amount that left its container.

    As a goal it is the sum over groups, or the worst of them. A RELATIVE limit is a share of the group's total.
    """

    partition: str
    dimension: str = COUNT
    limit: Limit = Limit()
    aggregate: Aggregate = Aggregate.SUM

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (1, G)."""
        partition = problem.partition(self.where, self.partition)
        left = utilisation(problem, self.where, CONTAINER, self.dimension, self.partition, Flavour.NEW)
        limit = self.limit.by_group(self.where, partition.groups)
        if self.limit.type is LimitType.RELATIVE:
            limit = limit * partition.totals(largest_values(problem, self.where, self.dimension))
        if (limit < 0).any():
            raise self.refuse("limit", float(np.min(limit)), "no assignment can meet a negative limit; give 0 or more")
        return (PositivePart(left.over_rows() - limit[None, :]),)

    def cost(self, problem: Problem) -> Expression:
        """Return the sum over groups, or the worst."""
        (excess,) = self.excess(problem)
        return excess.total() if self.aggregate is Aggregate.SUM else Max(excess)

    def scale(self, problem: Problem) -> float:
        """Return the amount if all objects move."""
        if self.aggregate is Aggregate.SUM:
            return dimension_total(problem, self.where, self.dimension)
        totals = problem.partition(self.where, self.partition).totals(
            largest_values(problem, self.where, self.dimension)
        )
        return float(totals.max(initial=0.0))
