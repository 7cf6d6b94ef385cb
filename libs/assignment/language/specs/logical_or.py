"""LogicalOrSpec: require at least one of several specs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression, Sum, Term, sum_of
from libs.assignment.language.expressions.max import Max
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.matrices import csr
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class LogicalOrSpec(Spec):
    """The least of the members' total excesses: 0 if any one holds."""

    specs: Sequence[Spec]

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (1, 1)."""
        if not self.specs:
            raise self.refuse("specs", self.specs, "needs at least one")
        sums = [sum_of(tuple(part.total() for part in one.excess(problem))) for one in self.specs]
        height = len(sums)
        stacked = Sum((height, 1), tuple(Term(one, -1.0, csr(np.eye(height)[:, [k]])) for k, one in enumerate(sums)))
        return (PositivePart(Max(stacked) * -1.0),)

    def scale(self, problem: Problem) -> float:
        """Return the smallest of the members' scales."""
        return min(one.scale(problem) for one in self.specs)
