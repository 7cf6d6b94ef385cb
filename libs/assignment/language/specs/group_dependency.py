"""GroupDependencySpec: place a group only in scope items with the group that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.matrices import csr
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class GroupDependencySpec(Spec):
    """max(0, Step(util[i, g]) - Step(util[i, h])) for each scope item i and each pair: g depends on h.

    An item with any of g needs some of h: for example a web tier only in regions with its cache. Source: ours.
    """

    partition: str
    pairs: Sequence[tuple[str | int, str | int]]
    scope: str = CONTAINER
    dimension: str = COUNT

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess of each pair of groups in each scope item, (I, pairs)."""
        groups = problem.partition(self.where, self.partition).groups
        if not len(self.pairs):
            return ()
        number = np.arange(len(self.pairs))
        needs = groups.indices(f"{self.where}, pairs", (pair[0] for pair in self.pairs))
        needed = groups.indices(f"{self.where}, pairs", (pair[1] for pair in self.pairs))
        ones = np.ones(len(self.pairs))
        each = (np.concatenate([number, number]), np.concatenate([needs, needed]))
        pick = csr((np.concatenate([ones, -ones]), each), shape=(len(self.pairs), len(groups)))
        present = Step(utilisation(problem, self.where, self.scope, self.dimension, self.partition))
        return (PositivePart(present.mapped(columns=pick)),)

    def scale(self, problem: Problem) -> float:
        """Return the number of pairs."""
        return float(len(self.pairs))
