"""AvoidMovingSpec: keep certain objects in their containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.dimension import Dimension
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class AvoidMovingSpec(Spec):
    """The number of named objects outside their initial container."""

    objects: Sequence[str | int]

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (C, 1), by the container that objects moved to."""
        named = np.zeros(len(problem.objects))
        named[problem.objects.indices(f"{self.where}, objects", self.objects)] = 1.0
        moved = Lookup(
            scope=problem.scope(self.where, CONTAINER),
            partition=None,
            dimension=Dimension(name=self.where, objects=named, by_item=None, capacities={}),
            flavour=Flavour.NEW,
            initial=problem.initial,
        )
        return (PositivePart(moved),)

    def scale(self, problem: Problem) -> float:
        """Return the number of named objects: the value if all of them move."""
        return float(len(self.objects))
