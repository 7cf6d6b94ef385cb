"""BalanceSpec: fill scope items equally."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.power import Power
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, relative_utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


class BalanceFormula(StrEnum):
    """The function of the excess above the threshold."""

    LINEAR = "LINEAR"
    """The sum of the excess."""
    SQUARES = "SQUARES"
    """The sum of squares of the excess: the fullest item counts most."""
    MAX = "MAX"
    """The largest excess."""
    IDEAL = "IDEAL"
    """sum_i capacity[i] rel[i] ** 2, without a threshold. An object costs more in a fuller item."""


class BalanceBound(StrEnum):
    """The kind of threshold."""

    RELATIVE = "RELATIVE"
    """upper_bound times the average."""
    ABSOLUTE = "ABSOLUTE"
    """upper_bound more than the average."""
    RELATIVE_UTIL = "RELATIVE_UTIL"
    """upper_bound itself."""


@spec
class BalanceSpec(Spec):
    """f(max(0, rel[i] - threshold)) over scope items i, with rel[i] = util[i] / capacity[i].

    The average is total utilisation over total capacity, because all items can reach it at once. Items without capacity
    do not count.
    """

    dimension: str
    scope: str = CONTAINER
    formula: BalanceFormula = BalanceFormula.LINEAR
    bound: BalanceBound = BalanceBound.RELATIVE
    upper_bound: float = 1.0
    flavour: Flavour = Flavour.AFTER
    filter: Filter = Filter()

    def cost(self, problem: Problem) -> Expression:
        """Return the cost, (1, 1)."""
        if self.flavour is Flavour.DURING_AND_AFTER:
            raise self.refuse("flavour", "DURING_AND_AFTER", "cannot balance two utilisations; use AFTER or ANY")
        if not self.upper_bound >= 0:
            raise self.refuse("upper_bound", self.upper_bound, "expected 0 or more")
        rel, capacity = relative_utilisation(problem, self.where, self.scope, self.dimension, self.filter, self.flavour)
        if self.formula is BalanceFormula.IDEAL:
            return Power(rel, 2.0).scaled(rows=capacity).total()
        average = rel.mapped(rows=(capacity / (capacity.sum() or 1.0))[None, :])
        if self.bound is BalanceBound.RELATIVE:
            above = PositivePart(rel - average * self.upper_bound)
        elif self.bound is BalanceBound.ABSOLUTE:
            above = PositivePart(rel - average - self.upper_bound)
        else:
            above = PositivePart(rel - self.upper_bound)
        if self.formula is BalanceFormula.MAX:
            return Max(above)
        return (above if self.formula is BalanceFormula.LINEAR else Power(above, 2.0)).total()

    def scale(self, problem: Problem) -> float:
        """Return the cost if all items are at twice the average. MAX: the cost if one item is. IDEAL: the cost if all
        objects are in balance.
        """
        _, capacity = relative_utilisation(problem, self.where, self.scope, self.dimension, self.filter)
        average = dimension_total(problem, self.where, self.dimension) / (float(capacity.sum()) or 1.0)
        return {
            BalanceFormula.LINEAR: average * len(capacity),
            BalanceFormula.SQUARES: average * average * len(capacity),
            BalanceFormula.MAX: average,
            BalanceFormula.IDEAL: average * average * float(capacity.sum()),
        }[self.formula]
