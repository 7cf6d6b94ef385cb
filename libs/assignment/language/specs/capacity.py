"""CapacitySpec: bound the utilisation of scope items from above or below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.limit import Bound, Limit, LimitType
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class CapacitySpec(Spec):
    """max(0, util[i] - limit[i]), or limit - util for MIN, for each scope item i.

    A RELATIVE limit is a share of the item's capacity. With `zero_allowed` a MIN limit holds only for items in use.
    """

    dimension: str
    scope: str = CONTAINER
    limit: Limit = Limit(type=LimitType.RELATIVE)
    bound: Bound = Bound.MAX
    flavour: Flavour = Flavour.AFTER
    zero_allowed: bool = False
    filter: Filter = Filter()

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, 1) per flavour."""
        scope = problem.scope(self.where, self.scope)
        kept = self.filter.kept(self.where, scope.items)
        limits = self.limits(problem, kept)
        parts = []
        for flavour in self.flavour.parts():
            whole = utilisation(problem, self.where, self.scope, self.dimension, flavour=flavour)
            util = whole.mapped(rows=selection(kept, len(scope)))
            if self.bound is Bound.MAX:
                parts.append(PositivePart(util - limits))
            elif self.zero_allowed:
                parts.append(PositivePart(Step(util).scaled(rows=limits) - util))
            else:
                parts.append(PositivePart(limits - util))
        return tuple(parts)

    def scale(self, problem: Problem) -> float:
        """Return the largest possible excess: all demand for MAX, all limits for MIN."""
        if self.bound is Bound.MAX:
            return dimension_total(problem, self.where, self.dimension)
        kept = self.filter.kept(self.where, problem.scope(self.where, self.scope).items)
        return float(np.abs(self.limits(problem, kept)).sum())

    def limits(self, problem: Problem, kept: Ints) -> Floats:
        """Return the limits of the kept scope items, (kept,), in units of the dimension."""
        limits = self.limit.by_item(self.where, problem.scope(self.where, self.scope).items)
        if self.limit.type is LimitType.RELATIVE:
            limits = limits * problem.capacity(self.where, self.dimension, self.scope)
        return limits[kept]
