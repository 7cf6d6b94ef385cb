"""MovesInProgressSpec: moves that are under way are finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.dimension import ByItem, Dimension
from libs.assignment.expressions.expression import Expression
from libs.assignment.expressions.lookup import Lookup
from libs.assignment.expressions.positive_part import PositivePart
from libs.assignment.flavour import Flavour
from libs.assignment.problem_names import CONTAINER
from libs.assignment.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.problem import Problem


@spec
class MovesInProgressSpec(Spec):
    """The number of named objects that are not in the container that they are on their way to."""

    moves: Sequence[tuple[str | int, str | int]]

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """(1, 1)."""
        where, scope = f"{self.where}, moves", problem.scope(self.where, CONTAINER)
        who = problem.objects.indices(where, (move[0] for move in self.moves))
        to = scope.items.indices(where, (move[1] for move in self.moves))
        if len(np.unique(who)) < len(who):
            raise self.refuse("moves", len(self.moves), "an object is on its way to two containers")
        targets, kind = np.unique(to, return_inverse=True)
        table = np.ones((len(targets) + 1, len(scope)))
        table[0] = 0.0
        table[np.arange(1, len(targets) + 1), targets] = 0.0
        classes = np.zeros(len(problem.objects), dtype=np.int64)
        classes[who] = kind + 1
        elsewhere = Dimension(
            name=self.where,
            objects=np.ones(len(problem.objects)),
            by_item=ByItem(scope=scope, classes=classes, table=table),
            capacities={},
        )
        away = Lookup(scope=scope, partition=None, dimension=elsewhere, flavour=Flavour.AFTER, initial=problem.initial)
        return (PositivePart(away.total()),)

    def scale(self, problem: Problem) -> float:
        """All of them unfinished."""
        return float(max(len(self.moves), 1))
