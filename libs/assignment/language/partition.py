"""A partition: objects in groups, such as the tasks of a job or the replicas of a shard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.assignment.language.arrays import Floats
from libs.assignment.language.labels import Labels
from libs.assignment.language.matrices import Matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Sets of objects. They may overlap, and an object may be in none.

    matrix  (G, N)   1 if an object belongs to a group
    groups  Labels   their names
    """

    name: str
    matrix: Matrix
    groups: Labels

    def __len__(self) -> int:
        return len(self.groups)

    def totals(self, values: Floats) -> Floats:
        """Return the sum of a value over the objects of each group, (G,)."""
        return np.asarray(self.matrix @ values, dtype=np.float64)
