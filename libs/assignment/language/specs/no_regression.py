"""NoRegressionSpec: keep the joint excess of several specs in a scope item from growing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import checked_values
from libs.assignment.language.expressions.expression import Expression, sum_of
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.filter import Filter, selection
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class NoRegressionSpec(Spec):
    """max(0, b[i] - most[i]) for each scope item i, with b[i] = sum_k weight[k] excess_k[i]; most is b at the start.

    A constraint alone may not get worse in any element. Members of this spec may offset each other within an item. They
    are constraints by scope item, all of one scope. Source: RAS, 3.5.1.
    """

    specs: Sequence[Spec]
    weights: Sequence[float] = ()
    scope: str = CONTAINER
    most: Sequence[float] | None = None

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, 1)."""
        if not self.specs:
            raise self.refuse("specs", self.specs, "needs at least one")
        given = self.weights if len(self.weights) else np.ones(len(self.specs))
        weights = checked_values(f"{self.where}, weights", given, len(self.specs))
        parts = [self._by_item(problem, one) * float(weight) for one, weight in zip(self.specs, weights, strict=True)]
        broken = sum_of(tuple(parts), (len(problem.scope(self.where, self.scope)), 1))
        if self.most is None:
            return (PositivePart(broken - broken.value(problem.initial)),)
        return (PositivePart(broken - checked_values(f"{self.where}, most", self.most, broken.shape[0])),)

    def scale(self, problem: Problem) -> float:
        """Return the weighted sum of the members' scales."""
        given = self.weights if len(self.weights) else np.ones(len(self.specs))
        return float(sum(weight * one.scale(problem) for one, weight in zip(self.specs, given, strict=True)))

    def _by_item(self, problem: Problem, one: Spec) -> Expression:
        """Return a member's total excess in each scope item, (I, 1); 0 for items that it does not consider."""
        if getattr(one, "scope", None) != self.scope:
            raise self.refuse("specs", one.where, f"does not apply to the items of {self.scope!r}")
        items = problem.scope(self.where, self.scope).items
        kept = getattr(one, "filter", Filter()).kept(one.where, items)
        only = selection(kept, len(items))
        parts = []
        for part in one.excess(problem):
            if part.shape[0] != len(kept):
                raise self.refuse(
                    "specs", one.where, "has no excess by scope item; give a constraint that has, such as CapacitySpec"
                )
            parts.append(part.mapped(rows=None if only is None else only.T, columns=np.ones((1, part.shape[1]))))
        return sum_of(tuple(parts), (len(items), 1))
