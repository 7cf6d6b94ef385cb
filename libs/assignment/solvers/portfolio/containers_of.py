"""Which containers a row or a column of a lowered problem is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.lowered import Lowered

HOPS_MAX = 10
"""Columns that are further from any count than this belong to nobody."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """K containers; C columns of the model, the first Q of them counts.

    columns    (C, K)  the part of each column's cost that is a container's: a count is its container's alone, another
                       column that of the containers whose rows it is in, in equal parts
    rows       (N, K)  likewise; 0 for supply rows
    separable  bool    no column and no row but supply is about more than one container
    sink       int     the container whose counts are in no row that matters but supply: what is in it costs so much
                       an object and nothing else, as for what is placed nowhere; -1 where there is none
    """

    columns: Matrix
    rows: Matrix
    separable: bool
    sink: int
    _by_container: Matrix

    def of(self, containers: Ints) -> Bools:
        """(C,) the columns that any of the containers has part in."""
        chosen = np.zeros(self.columns.shape[0], dtype=np.bool_)
        for k in containers:
            chosen[self._by_container.indices[slice(*self._by_container.indptr[k : k + 2])]] = True
        return chosen

    def costs(self, cost: Floats, x: Floats) -> Floats:
        """(K,) what each container costs at a point."""
        return np.asarray(self.columns.T @ (cost * x), dtype=np.float64)


def shares_of(lowered: Lowered, cost: Floats) -> Shares:
    """From which rows the counts are in, through the columns of these to others. `cost` (C,) says what matters."""
    matrix, counts, classes = lowered.model.matrix, len(lowered.kind), len(lowered.classes.size)
    containers = len(lowered.problem.containers)
    pattern = csr(matrix)
    pattern.data = np.ones_like(pattern.data)
    pattern = csr(sparse.vstack([csr((classes, pattern.shape[1])), pattern[classes:]]))
    own = csr((np.ones(counts), (np.arange(counts), lowered.container)), shape=(pattern.shape[1], containers))
    columns, rows = own, csr((pattern.shape[0], containers))
    for _ in range(HOPS_MAX):
        rows = rows + _where_none(_equal_parts(pattern @ columns), rows)
        found = _where_none(_equal_parts(pattern.T @ rows), columns)
        if not found.nnz:
            break
        columns = csr(columns + found)
    separable = bool(np.diff(columns.indptr).max(initial=0) <= 1 and np.diff(rows.indptr).max(initial=0) <= 1)
    return Shares(
        columns=columns,
        rows=csr(rows),
        separable=separable,
        sink=_sink(lowered, pattern, cost),
        _by_container=csr(columns.T),
    )


def _equal_parts(found: Matrix) -> Matrix:
    found = csr(found)
    found.data = np.repeat(1.0 / np.maximum(np.diff(found.indptr), 1), np.diff(found.indptr))
    return found


def _where_none(found: Matrix, known: Matrix) -> Matrix:
    """The rows of `found` for which nothing is known yet."""
    return csr(sparse.diags_array((np.diff(known.indptr) == 0).astype(np.float64)) @ found)


def _sink(lowered: Lowered, pattern: Matrix, cost: Floats) -> int:
    """A row does not matter where a column that is in no other and costs nothing can make up for it."""
    counts = len(lowered.kind)
    alone = np.bincount(pattern.indices, minlength=len(cost)) == 1
    idle = alone & (cost == 0.0)
    idle[:counts] = False
    void = (pattern @ idle.astype(np.float64)) > 0
    bound = sparse.diags_array((~void).astype(np.float64)) @ pattern[:, :counts]
    in_rows = np.bincount(csr(bound).indices, minlength=counts)[:counts]
    containers = len(lowered.problem.containers)
    matters = np.bincount(lowered.container, in_rows, containers) > 0
    classes = np.where(matters, 0, np.bincount(lowered.container, minlength=containers))
    return int(classes.argmax()) if classes.max(initial=0) else -1
