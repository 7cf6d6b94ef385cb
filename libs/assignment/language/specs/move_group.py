"""MoveGroupSpec: move the objects of a group together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.expressions.step import Step
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.specs.spec import Spec, spec
from libs.assignment.language.specs.utilisation import utilisation

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MoveGroupSpec(Spec):
    """max(0, containers with any of g after - containers with any of g before), for each group g.

    A group in one container stays or moves as a whole. A spread group is not spread further.
    """

    partition: str

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (1, G)."""
        after = utilisation(problem, self.where, CONTAINER, COUNT, self.partition)
        before = utilisation(problem, self.where, CONTAINER, COUNT, self.partition, Flavour.INITIAL)
        held = (before.utilisation(problem.initial) > 0).sum(axis=0)
        return (PositivePart(Step(after).over_rows() - np.asarray(held, dtype=np.float64).reshape(1, -1)),)

    def scale(self, problem: Problem) -> float:
        """Return the number of groups."""
        return float(len(problem.partition(self.where, self.partition)))
