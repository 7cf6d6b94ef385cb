"""NonAcceptingSpec: move nothing into certain scope items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import selection
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class NonAcceptingSpec(Spec):
    """util_NEW[i] for each named scope item i: the amount that moved in from outside the item."""

    items: Sequence[str | int]
    scope: str = CONTAINER
    dimension: str = COUNT

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (items, 1)."""
        scope = problem.scope(self.where, self.scope)
        closed = np.unique(scope.items.indices(f"{self.where}, items", self.items))
        came = utilisation(problem, self.where, self.scope, self.dimension, flavour=Flavour.NEW)
        return (PositivePart(came.mapped(rows=selection(closed, len(scope)))),)

    def scale(self, problem: Problem) -> float:
        """Return the amount if all objects move in."""
        return dimension_total(problem, self.where, self.dimension)
