"""Find each part's share in an expression, by which its limits are divided."""

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
"""Weight of an object with value 0, so that it still counts in its group."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The share of each part in each row and each column; 0: the part cannot change it.

    rows     (P, rows)     adds up to 1 over the parts, or to 0 if no part can change the row
    columns  (P, columns)  likewise
    """

    rows: Floats
    columns: Floats

    def shared(self) -> tuple[Ints, Ints]:
        """Return rows and columns with a share of more than one part. Elements outside of both belong to one part."""
        return _in_several(self.rows), _in_several(self.columns)

    def kept(self, part: int) -> tuple[Ints, Ints]:
        """Return rows and columns in which a part has a share."""
        return np.flatnonzero(self.rows[part] > 0), np.flatnonzero(self.columns[part] > 0)

    def weights(self, rows: Ints, columns: Ints) -> Floats:
        """Return the share of each part in a block's elements, (P, rows, columns), in proportion to row and column."""
        product = self.rows[:, rows, None] * self.columns[:, None, columns]
        return _fractions(product)


class Shares:
    """The shares of every expression of a problem, each computed once.

    A row of a lookup is shared by the number of containers per part, a column by the values of the group's objects per
    part. Linear maps pass both on.
    """

    def __init__(self, parts: Sequence[Part], objects: int, containers: int) -> None:
        self.parts = parts
        self._objects = _incidence([part.objects for part in parts], objects)
        self._containers = _incidence([part.containers for part in parts], containers)
        self._known: dict[int, Share] = {}

    def of(self, expression: Expression) -> Share:
        """Return the share of an expression."""
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
    """Return (P, size): 1 if a part has a member."""
    part = np.repeat(np.arange(len(members)), [len(one) for one in members])
    who = np.concatenate(members) if members else np.zeros(0, dtype=np.int64)
    return csr((np.ones(len(who)), (part, who)), shape=(len(members), size))


def _through(share: Floats, given: Matrix | None) -> Floats:
    return share if given is None else np.asarray((abs(given) @ share.T).T, dtype=np.float64)


def _in_several(by: Floats) -> Ints:
    """Return the elements of (P, n) shares in which more than one part has a share."""
    return np.flatnonzero((by > 0).sum(axis=0) > 1)


def _fractions(amounts: Floats) -> Floats:
    total = amounts.sum(axis=0)
    some: Bools = total > 0
    return np.where(some, amounts / np.where(some, total, 1.0), 0.0)
