"""AvoidAssignmentsSpec: keep objects out of certain scope items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.language.dimension import ByItem, Dimension
from libs.assignment.language.expressions.expression import Expression
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.positive_part import PositivePart
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.problem_names import CONTAINER
from libs.assignment.language.specs.spec import Spec, spec

if TYPE_CHECKING:
    from libs.assignment.language.problem import Problem


@spec
class AvoidAssignmentsSpec(Spec):
    """The number of named objects in scope items that they must avoid, per scope item.

    `assignments` are pairs of an object (or several) and the items to avoid. With a `partition`, pairs name groups, and
    all objects of a group count. With the flavour NEW an object may stay in an item that it must avoid.
    """

    assignments: Sequence[tuple[str | int | Sequence[str | int], Sequence[str | int]]]
    scope: str = CONTAINER
    partition: str | None = None
    flavour: Flavour = Flavour.AFTER

    def excess(self, problem: Problem) -> tuple[Expression, ...]:
        """Return the excess, (I, 1) per flavour."""
        scope, where = problem.scope(self.where, self.scope), f"{self.where}, assignments"
        named = problem.objects if self.partition is None else problem.partition(self.where, self.partition).groups
        avoided: dict[int, set[int]] = {}
        for who, items in self.assignments:
            several = [who] if isinstance(who, str | int | np.integer) else who
            away = scope.items.indices(where, items).tolist()
            for one in named.indices(where, several).tolist():
                avoided.setdefault(one, set()).update(away)
        kinds = {
            kind: k for k, kind in enumerate(sorted({frozenset(away) for away in avoided.values()}, key=sorted), 1)
        }
        table = np.zeros((len(kinds) + 1, len(scope)))
        for kind, k in kinds.items():
            table[k, list(kind)] = 1.0
        kind_of = np.zeros(len(named) + 1, dtype=np.int64)  # the last row is for objects in no group
        for one, away in avoided.items():
            kind_of[one] = kinds[frozenset(away)]
        wrong = Dimension(
            name=self.where,
            objects=np.ones(len(problem.objects)),
            by_item=ByItem(scope=scope, classes=kind_of[self._named(problem)], table=table),
            capacities={},
        )
        return tuple(
            PositivePart(Lookup(scope=scope, partition=None, dimension=wrong, flavour=part, initial=problem.initial))
            for part in self.flavour.parts()
        )

    def scale(self, problem: Problem) -> float:
        """Return the number of pairs: every named object in a wrong item."""
        return float(len(self.assignments))

    def _named(self, problem: Problem) -> Ints:
        """Return the object itself, or its group, (N,)."""
        if self.partition is None:
            return np.arange(len(problem.objects))
        groups = problem.partition(self.where, self.partition).matrix
        if np.bincount(groups.indices, minlength=1).max() > 1:
            raise self.refuse("partition", self.partition, "its groups overlap; state one assignment per object")
        of = np.full(len(problem.objects), groups.shape[0], dtype=np.int64)
        of[groups.indices] = np.repeat(np.arange(groups.shape[0]), np.diff(groups.indptr))
        return of
