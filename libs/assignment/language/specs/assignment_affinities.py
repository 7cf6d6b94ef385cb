"""AssignmentAffinitiesSpec: place objects in scope items that they prefer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class AssignmentAffinitiesSpec(Spec):
    """- sum_i util[i] of a dimension that differs by scope item: an object's preference for the item.

    State the dimension with `by_item`, and with signed=True if preferences may be negative.
    """

    dimension: str
    scope: str = CONTAINER

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        if problem.dimension(self.where, self.dimension).by_item is None:
            raise self.refuse("dimension", self.dimension, "is the same everywhere; state it with by_item")
        return utilisation(problem, self.where, self.scope, self.dimension).total() * -1.0

    def scale(self, problem: Problem) -> float:
        """Return the total of the strongest preferences."""
        return float(np.abs(dimension_total(problem, self.where, self.dimension)))
