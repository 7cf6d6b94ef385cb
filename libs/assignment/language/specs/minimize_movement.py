"""MinimizeMovementSpec: move as little as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.scope import Scope
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MinimizeMovementSpec(Spec):
    """max(0, sum_i util_NEW[i] + util_NEW[outside] - allowance); `outside` is all containers in no scope item.

    Every object that changes its scope item counts once, with its value of the dimension. Source: Rebalancer, 4.1.
    """

    scope: str = CONTAINER
    dimension: str = COUNT
    allowance: float = 0.0

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        if not self.allowance >= 0:
            raise BadValues(f"{self.where}: allowance = {self.allowance}; expected 0 or more")
        moved = utilisation(problem, self.where, self.scope, self.dimension, flavour=Flavour.NEW)
        total = moved.total()
        item = moved.scope.item
        if (item < 0).any():
            outside = Scope(name="outside", item=np.where(item < 0, 0, -1), items=problem.outside)
            away = Lookup(
                scope=outside,
                partition=None,
                dimension=moved.dimension,
                flavour=Flavour.NEW,
                initial=problem.initial,
            )
            total = total + away
        return PositivePart(total - self.allowance) if self.allowance else total

    def scale(self, problem: Problem) -> float:
        """Return the amount if all objects move."""
        return dimension_total(problem, self.where, self.dimension)
