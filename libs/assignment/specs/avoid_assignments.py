"""AvoidAssignmentsSpec: certain objects do not go to certain scope items."""

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
class AvoidAssignmentsSpec(Spec):
    """The number of named objects in scope items that they are to avoid, for each scope item.

    `assignments` are pairs: an object (or several), and the items that it avoids.
    """

    assignments: Sequence[tuple[str | int | Sequence[str | int], Sequence[str | int]]]
    scope: str = CONTAINER

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """(I, 1)."""
        scope, where = problem.scope(self.where, self.scope), f"{self.where}, assignments"
        avoided: dict[int, set[int]] = {}
        for who, items in self.assignments:
            several = [who] if isinstance(who, str | int | np.integer) else who
            away = scope.items.indices(where, items).tolist()
            for o in problem.objects.indices(where, several).tolist():
                avoided.setdefault(o, set()).update(away)
        kinds = {
            kind: k for k, kind in enumerate(sorted({frozenset(away) for away in avoided.values()}, key=sorted), 1)
        }
        table = np.zeros((len(kinds) + 1, len(scope)))
        for kind, k in kinds.items():
            table[k, list(kind)] = 1.0
        classes = np.zeros(len(problem.objects), dtype=np.int64)
        for o, away in avoided.items():
            classes[o] = kinds[frozenset(away)]
        wrong = Dimension(
            name=self.where,
            objects=np.ones(len(problem.objects)),
            by_item=ByItem(scope=scope, classes=classes, table=table),
            capacities={},
        )
        held = Lookup(scope=scope, partition=None, dimension=wrong, flavour=Flavour.AFTER, initial=problem.initial)
        return (PositivePart(held),)

    def scale(self, problem: Problem) -> float:
        """Every named object where it should not be."""
        return float(max(len(self.assignments), 1))
