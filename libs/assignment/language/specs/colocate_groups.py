"""ColocateGroupsSpec: bound the number of scope items that a group uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats, checked_values
from libs.assignment.language.expressions.expression import Expression, sum_of
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class ColocateGroupsSpec(Spec):
    """max(0, sum_i weight[i] Step(util[i, g]) - limit[g]) for each group g (MIN: limit - sum).

    MAX with a limit of 1 keeps a group in one scope item; MIN spreads it over at least `limit` items. `item_weights`
    gives weights of scope items (default 1). Items that the filter leaves out do not count.
    """

    partition: str
    scope: str = CONTAINER
    dimension: str = COUNT
    limit: Limit = Limit()
    bound: Bound = Bound.MAX
    item_weights: Mapping[str | int, float] | None = None
    squares: bool = False
    filter: Filter = Filter()

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (1, G)."""
        if self.limit.type is LimitType.RELATIVE:
            raise self.refuse("limit", "RELATIVE", "the limit counts scope items; use ABSOLUTE")
        groups = problem.partition(self.where, self.partition).groups
        util = utilisation(problem, self.where, self.scope, self.dimension, self.partition)
        spread = Step(util).mapped(rows=self._weights(problem)[None, :])
        limit = self.limit.by_group(self.where, groups)[None, :]
        return (PositivePart(spread - limit if self.bound is Bound.MAX else limit - spread),)

    def cost(self, problem: Problem) -> Expression:
        """Return the sum over groups, squared if `squares`."""
        parts = self.excess(problem)
        if self.squares:
            parts = tuple(Power(part.child, 2.0) for part in parts if isinstance(part, PositivePart))
        return sum_of(tuple(part.total() for part in parts))

    def scale(self, problem: Problem) -> float:
        """Return the number of groups."""
        return float(len(problem.partition(self.where, self.partition)))

    def _weights(self, problem: Problem) -> Floats:
        items = problem.scope(self.where, self.scope).items
        weights = np.zeros(len(items))
        weights[self.filter.kept(self.where, items)] = 1.0
        if self.item_weights:
            where = f"{self.where}, item_weights"
            given = checked_values(where, list(self.item_weights.values()), len(self.item_weights))
            weights[items.indices(where, self.item_weights)] *= given
        return weights
