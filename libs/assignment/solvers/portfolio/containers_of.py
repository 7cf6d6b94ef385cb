"""Find the containers that a row or a column of a lowered problem belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.model.lowered import Lowered
from libs.mip.model import Model

HOPS_MAX = 10
"""Most rows on the way from a count to another column. A column farther from all counts belongs to no container."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """The containers that each column and each row of a model belong to.

    The model has K containers, N rows and C columns. The first Q columns are counts. A count is the number of objects
    of one class in one container. A supply row says that the counts of a class add up to the size of the class.

    columns    (C, K)  share of each container in the cost of a column. A count belongs to its container. Any other
                       column belongs in equal shares to the containers of the rows that contain the column
    rows       (N, K)  share of each container in a row, in equal shares; 0 for supply rows
    separable  bool    no column, and no row except supply rows, belongs to more than one container
    sink       int     a container for unplaced objects; -1 if there is none. The counts of the sink are in no relevant
                       row except supply rows, so an object in the sink costs only its own cost
    """

    columns: Matrix
    rows: Matrix
    separable: bool
    sink: int
    _by_container: Matrix

    def separates(self, model: Model) -> bool:
        """Return whether only supply couples containers in `model`.

        The model has the columns and rows of the lowered one. A further row, which keeps the value of a higher
        priority, couples all containers.
        """
        return self.separable and model.matrix.shape[0] == self.rows.shape[0]

    def of(self, containers: Ints) -> Bools:
        """Return for each column whether it belongs to one of `containers`, (C,)."""
        chosen = np.zeros(self.columns.shape[0], dtype=np.bool_)
        for k in containers:
            chosen[self._by_container.indices[slice(*self._by_container.indptr[k : k + 2])]] = True
        return chosen

    def each(self, containers: Ints) -> list[Ints]:
        """Return the columns of each of `containers`."""
        return [np.flatnonzero(self.of(containers[k : k + 1])) for k in range(len(containers))]

    def costs(self, cost: Floats, x: Floats) -> Floats:
        """Return the cost of each container, (K,), at the point `x` (C,), for the cost `cost` (C,) of the columns."""
        return np.asarray(self.columns.T @ (cost * x), dtype=np.float64)


def shares_of(lowered: Lowered, cost: Floats) -> Shares:
    """Derive the shares of containers in columns and rows, outward from the counts.

    A row takes the containers of the counts in the row. A column that is not a count takes the containers of the rows
    that contain the column. This repeats at most HOPS_MAX times.

    cost  (C,) the cost of the columns in the objective. A column without cost may make a row irrelevant for the sink
    """
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
        sink=_sink(lowered, csr(pattern[: lowered.stated]), cost),
        _by_container=csr(columns.T),
    )


def _equal_parts(found: Matrix) -> Matrix:
    found = csr(found)
    found.data = np.repeat(1.0 / np.maximum(np.diff(found.indptr), 1), np.diff(found.indptr))
    return found


def _where_none(found: Matrix, known: Matrix) -> Matrix:
    """Return the rows of `found` in which `known` has no entry. All other rows are empty."""
    return csr(sparse.diags_array((np.diff(known.indptr) == 0).astype(np.float64)) @ found)


def _sink(lowered: Lowered, pattern: Matrix, cost: Floats) -> int:
    """Return the sink, the container for unplaced objects; -1 if there is none.

    Of the containers without a count in a relevant row, the sink is the container with the most counts. A row is
    irrelevant if a column without cost can balance the row, and that column is in no other row.

    pattern  of the rows that are stated: a row that follows from an irrelevant one is irrelevant too
    """
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
