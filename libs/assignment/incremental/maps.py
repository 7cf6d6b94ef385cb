"""Store maps and arrays one after the other in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from libs.assignment.incremental.tables import ALL, MANY, ONE, SAME
from libs.assignment.language.matrices import Matrix
from libs.assignment.language.scope import Scope


class Maps:
    """Maps between rows, columns, containers and objects, each stored once. See Tables for the format."""

    def __init__(self) -> None:
        self.index = Flat(np.int64)
        self.number = Flat(np.float64)
        self._known: dict[tuple[bytes, bytes, bytes], tuple[int, int]] = {}
        self._items: dict[int, int] = {}

    def items(self, scope: Scope) -> int:
        """Return the offset of the items of a scope's containers."""
        if id(scope) not in self._items:
            self._items[id(scope)] = self.index.add(scope.item)
        return self._items[id(scope)]

    def add(self, matrix: Matrix | None) -> tuple[int, int]:
        """Return kind and offset of a map from the matrix's columns to its rows."""
        if matrix is None:
            return SAME, 0
        by_source = sparse.csc_array(matrix)
        by_source.sum_duplicates()
        if by_source.shape[0] == 1 and by_source.nnz == by_source.shape[1] and (by_source.data == 1).all():
            return ALL, 0
        key = (by_source.indptr.tobytes(), by_source.indices.tobytes(), by_source.data.tobytes())
        if key not in self._known:
            self._known[key] = self._store(by_source)
        return self._known[key]

    def _store(self, by_source: Matrix) -> tuple[int, int]:
        counts = np.diff(by_source.indptr)
        if counts.max(initial=0) <= 1:
            targets, factors = np.full(len(counts), -1, dtype=np.int64), np.zeros(len(counts))
            targets[counts == 1], factors[counts == 1] = by_source.indices, by_source.data
            by = self.number.add(factors)
            return ONE, self.index.add(np.concatenate([[by], targets])) + 1
        targets_at = self.index.add(by_source.indices)
        by = self.number.add(by_source.data)
        starts = by_source.indptr.astype(np.int64) + targets_at
        return MANY, self.index.add(np.concatenate([[by - targets_at], starts])) + 1


class Flat:
    """Arrays stored one after the other."""

    def __init__(self, kind: type) -> None:
        self.kind, self.size = kind, 0
        self.parts: list[NDArray[Any]] = [np.zeros(0, dtype=kind)]

    def add(self, values: NDArray[Any]) -> int:
        """Add an array, and return its offset."""
        at = self.size
        self.parts.append(np.asarray(values, dtype=self.kind).ravel())
        self.size += self.parts[-1].size
        return at

    def whole(self) -> NDArray[Any]:
        """Return all arrays as one."""
        return np.concatenate(self.parts)
