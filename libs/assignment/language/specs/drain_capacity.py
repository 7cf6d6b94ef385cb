"""DrainCapacitySpec: leave room to drain any one scope item into others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import checked_values
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.matrices import csr
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import dimension_total, utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class DrainCapacitySpec(Spec):
    """max(0, util[j] + share[i, j] util[i] - capacity[j]) for each origin i and destination j of `spill`.

    spill   origin -> destination -> the share of the origin's utilisation that moves there when the origin is drained
    """

    dimension: str
    spill: Mapping[str | int, Mapping[str | int, float]]
    scope: str = CONTAINER

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (pairs, 1)."""
        items, where = problem.scope(self.where, self.scope).items, f"{self.where}, spill"
        origins = items.indices(where, (i for i, to in self.spill.items() for _ in to))
        takers = items.indices(where, (j for to in self.spill.values() for j in to))
        given = [share for to in self.spill.values() for share in to.values()]
        shares = checked_values(where, given, len(given))
        if (origins == takers).any():
            raise self.refuse("spill", items.name(int(origins[origins == takers][0])), "spills into itself")
        pairs = np.arange(len(shares))
        entries = (np.concatenate([pairs, pairs]), np.concatenate([takers, origins]))
        drained = csr((np.concatenate([np.ones(len(pairs)), shares]), entries), (len(pairs), len(items)))
        util = utilisation(problem, self.where, self.scope, self.dimension)
        capacity = problem.capacity(self.where, self.dimension, self.scope)
        return (PositivePart(util.mapped(rows=drained) - capacity[takers]),)

    def scale(self, problem: Problem) -> float:
        """Return the total demand of all objects."""
        return dimension_total(problem, self.where, self.dimension)
