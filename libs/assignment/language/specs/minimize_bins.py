"""MinimizeBinsSpec: use few scope items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats, checked_values
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MinimizeBinsSpec(Spec):
    """max(0, sum_i cost[i] Step(util[i]) - enough): the cost of scope items in use, as far as it exceeds `enough`."""

    scope: str = CONTAINER
    dimension: str = COUNT
    costs: Mapping[str | int, float] | None = None
    enough: float = 0.0
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        if not self.enough >= 0:
            raise self.refuse("enough", self.enough, "expected 0 or more")
        used = Step(utilisation(problem, self.where, self.scope, self.dimension))
        return PositivePart(used.mapped(rows=self._costs(problem)[None, :]) - self.enough)

    def scale(self, problem: Problem) -> float:
        """Return the cost of all items in use."""
        return float(self._costs(problem).sum())

    def _costs(self, problem: Problem) -> Floats:
        items = problem.scope(self.where, self.scope).items
        costs = np.zeros(len(items))
        costs[self.filter.kept(self.where, items)] = 1.0
        if self.costs:
            where = f"{self.where}, costs"
            given = checked_values(where, list(self.costs.values()), len(self.costs))
            costs[items.keys(where, self.costs)] *= given
        return costs
