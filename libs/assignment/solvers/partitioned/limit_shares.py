"""Find the share of each part in the rows and columns of an expression. Limits are divided by these shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from libs.assignment.language.arrays import Bools, Floats, Ints
from libs.assignment.language.expressions.elementwise import Elementwise
from libs.assignment.language.expressions.expression import Expression, Sum
from libs.assignment.language.expressions.lookup import Lookup
from libs.assignment.language.expressions.max import Max, Over
from libs.assignment.language.matrices import Matrix, csr
from libs.assignment.solvers.partitioned.part import Part

PRESENT = 1e-12
"""Weight of an object with value 0. With it, a part with only such objects of a group still has a share."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The share of each of P parts in the rows and columns of an expression.

    The shares of all parts in a row or column add up to 1. They add up to 0 if no part can change the row or column.

    rows     (P, rows)     the share of each part in each row; 0: the part cannot change the row
    columns  (P, columns)  the share of each part in each column; 0: the part cannot change the column
    """

    rows: Floats
    columns: Floats

    def shared(self) -> tuple[Ints, Ints]:
        """Return the rows in which several parts have a share, and the columns in which several parts have a share.

        An element outside of these rows, or outside of these columns, belongs to at most one part.
        """
        return _in_several(self.rows), _in_several(self.columns)

    def kept(self, part: int) -> tuple[Ints, Ints]:
        """Return the rows, and the columns, in which the part number `part` has a share."""
        return np.flatnonzero(self.rows[part] > 0), np.flatnonzero(self.columns[part] > 0)

    def weights(self, rows: Ints, columns: Ints) -> Floats:
        """Return the share of each part in the elements at `rows` and `columns`, (P, rows, columns).

        It is proportional to the product of the part's share in the row and its share in the column.
        """
        product = self.rows[:, rows, None] * self.columns[:, None, columns]
        return _fractions(product)


class Shares:
    """The shares of parts in every expression of a problem. The shares of an expression are computed only once.

    A lookup has a row for each scope item and a column for each group. A part's share in the row is proportional to the
    number of its containers in the item. Its share in the column is proportional to the total value of its objects in
    the group. Linear maps pass shares on from an expression to a sum of it.
    """

    def __init__(self, parts: Sequence[Part], objects: int, containers: int) -> None:
        self.parts = parts
        self._objects = _incidence([part.objects for part in parts], objects)
        self._containers = _incidence([part.containers for part in parts], containers)
        self._known: dict[int, Share] = {}

    def of(self, expression: Expression) -> Share:
        """Return the shares of all parts in `expression`."""
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = self._find(expression)
        return known

    def _find(self, expression: Expression) -> Share:
        if isinstance(expression, Lookup):
            return self._lookup(expression)
        if isinstance(expression, Elementwise):
            return self.of(expression.child)
        if isinstance(expression, Max):
            return self._max(expression)
        rows, columns = (np.zeros((len(self.parts), size)) for size in expression.shape)
        if isinstance(expression, Sum):
            for term in expression.terms:
                child = self.of(term.child)
                rows += _through(child.rows, term.rows)
                columns += _through(child.columns, term.columns)
        return Share(_fractions(rows), _fractions(columns))

    def _lookup(self, lookup: Lookup) -> Share:
        rows = self._containers @ lookup.scope.matrix().T
        takes = np.abs(lookup.dimension.objects)
        if lookup.dimension.by_item is not None:
            by = lookup.dimension.by_item
            takes = takes * np.abs(by.table).max(axis=1, initial=0.0)[by.classes]
        weighed = self._objects @ sparse.diags_array(takes + PRESENT)
        members = np.ones((1, len(takes))) if lookup.partition is None else lookup.partition.matrix
        return Share(_fractions(csr(rows).toarray()), _fractions(csr(weighed @ members.T).toarray()))

    def _max(self, expression: Max) -> Share:
        child = self.of(expression.child)
        rows, columns = child.rows, child.columns
        if expression.over is not Over.COLUMNS:
            rows = rows.sum(axis=1, keepdims=True)
        if expression.over is not Over.ROWS:
            columns = columns.sum(axis=1, keepdims=True)
        return Share(_fractions(rows), _fractions(columns))


def _incidence(members: Sequence[Ints], size: int) -> Matrix:
    """Return a matrix (P, size) with entry 1 if the part has the member: members[p] lists the members of part p."""
    part = np.repeat(np.arange(len(members)), [len(one) for one in members])
    who = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    return csr((np.ones(len(who)), (part, who)), shape=(len(members), size))


def _through(share: Floats, given: Matrix | None) -> Floats:
    return share if given is None else np.asarray((abs(given) @ share.T).T, dtype=np.float64)


def _in_several(by: Floats) -> Ints:
    """Return the positions at which more than one part has a share in `by` (P, n)."""
    return np.flatnonzero((by > 0).sum(axis=0) > 1)


def _fractions(amounts: Floats) -> Floats:
    total = amounts.sum(axis=0)
    some: Bools = total > 0
    return np.where(some, amounts / np.where(some, total, 1.0), 0.0)
