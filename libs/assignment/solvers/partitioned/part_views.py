"""Restrict scopes, partitions and dimensions to a part. A view is such a restricted scope, partition or factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from libs.assignment.language.arrays import Ints
from libs.assignment.language.dimension import ByItem, Dimension
from libs.assignment.language.matrices import csr
from libs.assignment.language.partition import Partition
from libs.assignment.language.scope import Scope
from libs.assignment.solvers.partitioned.part import Part


class Views:
    """The views of all parts, made at their first use.

    A second call returns the same view, because cells of the graph merge only if their scopes are the same object.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self._known: dict[tuple[int, int], object] = {}
        self._kept: list[object] = []

    def scope(self, scope: Scope, part: int) -> Scope:
        """Return `scope` restricted to the containers of the part, with those items that have such a container."""
        if (id(scope), part) not in self._known:
            self._kept.append(scope)
            item = scope.item[self.parts[part].containers]
            kept = np.unique(item[item >= 0])
            item = np.where(item >= 0, np.searchsorted(kept, item), -1)
            self._known[id(scope), part] = Scope(name=scope.name, item=item, items=scope.items.some(kept))
        found = self._known[id(scope), part]
        assert isinstance(found, Scope)
        return found

    def partition(self, partition: Partition, part: int, columns: Ints) -> Partition:
        """Return `partition` restricted to the objects of the part, with the groups `columns`."""
        if (id(partition), part) not in self._known:
            self._kept.append(partition)
            matrix = csr(partition.matrix[columns][:, self.parts[part].objects])
            made = Partition(name=partition.name, matrix=matrix, groups=partition.groups.some(columns))
            self._known[id(partition), part] = made
        found = self._known[id(partition), part]
        assert isinstance(found, Partition)
        return found

    def dimension(self, dimension: Dimension, part: int) -> Dimension:
        """Return `dimension` restricted to the objects and containers of the part, without capacities."""
        objects = self.parts[part].objects
        return Dimension(
            name=dimension.name,
            objects=dimension.objects[objects],
            by_item=None if dimension.by_item is None else self._by_item(dimension.by_item, part),
            capacities={},
        )

    def _by_item(self, by: ByItem, part: int) -> ByItem:
        if (id(by), part) not in self._known:
            self._kept.append(by)
            item = by.scope.item[self.parts[part].containers]
            table = by.table[:, np.unique(item[item >= 0])]
            classes = by.classes[self.parts[part].objects]
            self._known[id(by), part] = ByItem(scope=self.scope(by.scope, part), classes=classes, table=table)
        found = self._known[id(by), part]
        assert isinstance(found, ByItem)
        return found
