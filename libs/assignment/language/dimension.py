"""A dimension: a number for every object, and one for every scope item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByItem:
    """Factors that make an object's value depend on its scope item. Objects of one class share a row of factors.

    scope   Scope          its items are the columns
    classes (N,) int       the row of each object
    table   (K, I) float   the factor of a class in an item
    """

    scope: Scope
    classes: Ints
    table: Floats

    def of(self, objects: Ints, containers: Ints) -> Floats:
        """Return the factor of each object in its given container; 0 in containers outside the scope."""
        kind, item = np.broadcast_arrays(self.classes[objects], self.scope.item[containers])
        inside = item >= 0  # -1 means outside, and cannot index an empty scope
        found = np.zeros(item.shape)
        found[inside] = self.table[kind[inside], item[inside]]
        return found

    def by_container(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return (rows, C): the factor of each class in each container, 0 outside the scope."""
        padded = np.pad(self.table[rows], ((0, 0), (0, 1)))
        return np.asarray(padded[:, self.scope.item])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dimension:
    """A dimension: the demand of each object, and the capacity of each scope item.

    objects     (N,) float     an object's value; with `by_item` it is multiplied by the factor
    by_item     ByItem | None  None: the value is the same in all places
    capacities  {scope: (I,)}  a scope item's own value
    """

    name: str
    objects: Floats
    by_item: ByItem | None
    capacities: dict[str, Floats]
