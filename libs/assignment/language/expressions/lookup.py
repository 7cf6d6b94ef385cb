"""Look up utilisation, the only expression that reads the assignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.dimension import Dimension
from libs.assignment.language.errors import BadValues
from libs.assignment.language.expressions.expression import Expression, Shape
from libs.assignment.language.flavour import Flavour
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.language.partition import Partition
from libs.assignment.language.scope import Scope
from libs.assignment.language.specs.fields import member_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lookup(Expression):
    """A utilisation: util[i, g] is the sum of a dimension over the objects of group g that count towards scope item i.

    scope      rows
    partition  columns; None: one column for all objects
    dimension  the summed values
    flavour    decides which objects count; DURING_AND_AFTER needs two lookups
    initial    (N,) the container of each object before any move

    All lookups share the arrays of scope, partition and dimension. Source: Rebalancer, 4.2.
    """

    scope: Scope
    partition: Partition | None
    dimension: Dimension
    flavour: Flavour
    initial: Ints

    def __post_init__(self) -> None:
        """Convert a word. Raise BadValues for a flavour of two utilisations."""
        flavour = member_of(Flavour, self.flavour, "utilisation: flavour")
        object.__setattr__(self, "flavour", flavour)
        if flavour.parts() != (flavour,):
            raise BadValues(f"utilisation: flavour = {flavour.value!r} is two utilisations; take each of its parts()")

    @property
    def shape(self) -> Shape:
        """Return (scope items, groups)."""
        return len(self.scope), 1 if self.partition is None else len(self.partition)

    def children(self) -> tuple[Expression, ...]:
        """Return no children."""
        return ()

    def value_of(self, assignment: Ints, children: tuple[Floats, ...]) -> Floats:
        """Return the utilisation as a dense array, straight from the definition."""
        return np.asarray(self.utilisation(assignment).toarray())

    def utilisation(self, assignment: Ints) -> Matrix:
        """Return the utilisation, (scope items, groups) sparse."""
        before, after = self.scope.item[self.initial], self.scope.item[assignment]
        stayed = before == after
        if self.flavour is Flavour.AFTER:
            return self._sum(assignment, after >= 0)
        if self.flavour is Flavour.INITIAL:
            return self._sum(self.initial, before >= 0)
        if self.flavour is Flavour.STAYED:
            return self._sum(assignment, stayed & (after >= 0))
        if self.flavour is Flavour.NEW:
            return self._sum(assignment, ~stayed & (after >= 0))
        if self.flavour is Flavour.OLD:
            return self._sum(self.initial, ~stayed & (before >= 0))
        return self._sum(assignment, after >= 0) + self._sum(self.initial, ~stayed & (before >= 0))

    def _sum(self, containers: Ints, counts: Bools) -> Matrix:
        who = np.flatnonzero(counts)
        item, values = self.scope.item[containers[who]], self.dimension.objects[who]
        if self.dimension.by_item is not None:
            values = values * self.dimension.by_item.of(who, containers[who])
        objects = len(containers)
        held = csr((values, (item, who)), shape=(len(self.scope), objects))
        groups = np.ones((1, objects)) if self.partition is None else self.partition.matrix
        return csr(held @ groups.T)
