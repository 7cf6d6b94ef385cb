"""A scope: containers in sets, such as racks or datacenters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.language.labels import Labels
from libs.assignment.language.matrices import Matrix, csr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scope:
    """Disjoint sets of containers.

    item   (C,) int   the scope item of each container; -1: in none
    items  Labels     their names
    """

    name: str
    item: Ints
    items: Labels

    def __len__(self) -> int:
        return len(self.items)

    def matrix(self) -> Matrix:
        """Return (I, C): 1 if a container belongs to an item."""
        inside = np.flatnonzero(self.item >= 0)
        ones = np.ones(len(inside))
        return csr((ones, (self.item[inside], inside)), shape=(len(self), len(self.item)))
