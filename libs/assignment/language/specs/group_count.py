"""GroupCountSpec: bound the amount of each group in each scope item."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.expressions.expression import Constant, Expression, sum_of
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.limit import Limit, LimitType, first, varies
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, largest_values, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


class CountBound(StrEnum):
    """The allowed side of a limit."""

    MAX = "MAX"
    """At most the limit."""
    MIN = "MIN"
    """At least the limit."""
    EXACT = "EXACT"
    """Exactly the limit."""


class RelativeTo(StrEnum):
    """The whole of which a RELATIVE limit is a share."""

    GROUP_SIZE = "GROUP_SIZE"
    """The group's total of the dimension."""
    SCOPE_ITEM_UTIL = "SCOPE_ITEM_UTIL"
    """The scope item's utilisation by all objects."""


@spec
class GroupCountSpec(Spec):
    """max(0, util[i, g] - limit[i, g]) for each scope item i and group g (MIN: limit - util; EXACT: both).

    With `zero_allowed` a MIN limit holds only for groups present in the item. As a goal with `squares`, each excess is
    squared.
    """

    partition: str
    scope: str = CONTAINER
    dimension: str = COUNT
    limit: Limit = Limit()
    bound: CountBound = CountBound.MAX
    relative_to: RelativeTo = RelativeTo.GROUP_SIZE
    flavour: Flavour = Flavour.AFTER
    zero_allowed: bool = False
    squares: bool = False
    filter: Filter = Filter()

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, G) per flavour and side of the limit."""
        items = problem.scope(self.where, self.scope).items
        only = selection(self.filter.kept(self.where, items), len(items))
        parts: list[Expression] = []
        for flavour in self.flavour.parts():
            util = utilisation(problem, self.where, self.scope, self.dimension, self.partition, flavour)
            limit = self.limits(problem, flavour)
            if self.bound is not CountBound.MIN:
                parts.append(PositivePart((util - limit).mapped(rows=only)))
            if self.bound is not CountBound.MAX:
                wanted = self._where_present(util, limit) if self.zero_allowed else limit
                parts.append(PositivePart((wanted - util).mapped(rows=only)))
        return tuple(parts)

    def cost(self, problem: Problem) -> Expression:
        """Return the sum of all excess, squared if `squares`."""
        parts = self.excess(problem)
        if self.squares:
            parts = tuple(Power(part.child, 2.0) if isinstance(part, PositivePart) else part for part in parts)
        return sum_of(tuple(part.total() for part in parts))

    def scale(self, problem: Problem) -> float:
        """Return the excess of all objects of all groups."""
        if self.squares:
            totals = problem.partition(self.where, self.partition).totals(
                largest_values(problem, self.where, self.dimension)
            )
            return float((totals**2).sum())
        return dimension_total(problem, self.where, self.dimension)

    def limits(self, problem: Problem, flavour: Flavour) -> Expression:
        """Return the limits, (I, G), in units of the dimension."""
        partition, items = problem.partition(self.where, self.partition), problem.scope(self.where, self.scope).items
        groups = partition.groups
        if self.limit.type is LimitType.RELATIVE and self.relative_to is RelativeTo.SCOPE_ITEM_UTIL:
            return self._share_of_item(problem, flavour, len(groups))
        size: Floats = partition.totals(largest_values(problem, self.where, self.dimension))
        return self.limit.by_pair(self.where, items, groups, np.ones(len(items)), size)

    def _share_of_item(self, problem: Problem, flavour: Flavour, groups: int) -> Expression:
        items = problem.scope(self.where, self.scope).items
        if self.limit.groups is not None or self.limit.pairs:
            raise self.refuse("limit", "groups", "cannot be given with shares of an item's utilisation; use items")
        whole = utilisation(problem, self.where, self.scope, self.dimension, flavour=flavour)
        share = self.limit.by_item(self.where, items)
        return whole.scaled(rows=share).mapped(columns=np.ones((groups, 1)))

    def _where_present(self, util: Expression, limit: Expression) -> Expression:
        if not isinstance(limit, Constant) or varies(limit.by_row) or limit.pairs is not None:
            raise self.refuse("zero_allowed", True, "needs a limit that is the same in all scope items")
        return Step(util).scaled(columns=limit.by_column + first(limit.by_row))
