"""MovesInProgressSpec: finish the moves in progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from libs.assignment.language.expressions.expression import Constant, Expression
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import csr
from libs.assignment.language.partition import Partition
from libs.assignment.language.problem_names import CONTAINER, COUNT
from libs.assignment.language.scope import Scope
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class MovesInProgressSpec(Spec):
    """The number of named objects that are not in the destination of their move."""

    moves: Sequence[tuple[str | int, str | int]]

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (1, 1): sum_t max(0, named[t, t] - arrived[t, t]), over destinations t.

        arrived  (T, T) number of objects with destination u (column) that are in destination t (row). Only the
                 diagonal counts: elsewhere named[t, u] is 0. Stored elements: those of the moves.
        """
        where, scope = f"{self.where}, moves", problem.scope(self.where, CONTAINER)
        who = problem.objects.indices(where, (move[0] for move in self.moves))
        to = scope.items.indices(where, (move[1] for move in self.moves))
        if len(np.unique(who)) < len(who):
            raise self.refuse("moves", len(self.moves), "an object is on its way to two containers")
        targets, way = np.unique(to, return_inverse=True)
        ways = problem.containers.some(targets)
        item = np.full(len(scope), -1, dtype=np.int64)
        item[targets] = np.arange(len(targets))
        shape = (len(targets), len(problem.objects))
        bound_for = csr((np.ones(len(who)), (way.ravel(), who)), shape=shape)
        arrived = Lookup(
            scope=Scope(name=self.where, item=item[scope.item], items=ways),
            partition=Partition(name=self.where, matrix=bound_for, groups=ways),
            dimension=problem.dimension(self.where, COUNT),
            flavour=Flavour.AFTER,
            initial=problem.initial,
        )
        named = np.bincount(way.ravel(), minlength=len(targets)).astype(np.float64)
        all_of = Constant(np.zeros(len(targets)), np.zeros(len(targets)), csr(sparse.diags_array(named)))
        return (PositivePart(PositivePart(all_of - arrived).total()),)

    def scale(self, problem: Problem) -> float:
        """Return the number of moves: the value if none is finished."""
        return float(len(self.moves))
