"""Group objects that no term distinguishes. Source: Rebalancer, appendix A.1.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libs.assignment.graph.cell import Leaf
from libs.assignment.language.arrays import Bools, Ints
from libs.assignment.language.matrices import Matrix, csc


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classes:
    """Sets of equivalent objects: exchanging two objects of a class changes no value.

    of              (N,) the class of each object; classes are numbered by their first object
    representative  (K,) the first object of each
    size            (K,) objects of each
    """

    of: Ints
    representative: Ints
    size: Ints

    def __len__(self) -> int:
        return len(self.size)


def equivalent(leaves: Sequence[Leaf], objects: int, *apart: Ints) -> Classes:
    """Return the coarsest classes whose objects have the same value, columns and factors in all of these leaves.

    An object with only zero values, columns or factors has no part in a leaf, even if the other two are nonzero.

    apart   arrays (N,) of labels: objects with different labels are in different classes
    """
    labels = np.zeros(objects, dtype=np.int64)
    for label in apart:
        labels = _split(labels, label)
    for leaf in leaves:
        part = takes_part(leaf)
        if not part.any():
            continue
        _, value = np.unique(leaf.values, return_inverse=True)
        within = np.asarray(value, dtype=np.int64)
        if leaf.columns is not None:
            within = _split(within, _column_labels(leaf.columns, objects))
        if leaf.factor is not None:
            _, row = np.unique(leaf.factor.table, axis=0, return_inverse=True)
            within = _split(within, row.ravel()[leaf.factor.classes])
        labels = _split(labels, np.where(part, 1 + within, 0))
    return _numbered(labels)


def takes_part(leaf: Leaf) -> Bools:
    """Return whether each object counts in a leaf, (N,): its value, its columns and its factors all have nonzeros."""
    part: Bools = leaf.values != 0
    if leaf.columns is not None:
        part &= np.asarray(abs(leaf.columns).sum(axis=0) > 0)
    if leaf.factor is not None:
        used = np.count_nonzero(leaf.factor.table, axis=1) > 0
        part &= used[leaf.factor.classes]
    return part


def _column_labels(columns: Matrix, objects: int) -> Ints:
    """Return labels (N,) that are equal for objects with the same entries."""
    by_object = csc(columns)
    by_object.sum_duplicates()
    by_object.eliminate_zeros()
    entries = np.diff(by_object.indptr)
    labels: Ints = entries.astype(np.int64)
    for k in range(int(entries.max(initial=0))):
        some = np.flatnonzero(entries > k)
        at = by_object.indptr[some] + k
        _, value = np.unique(by_object.data[at], return_inverse=True)
        more = np.zeros(objects, dtype=np.int64)
        more[some] = 1 + _split(by_object.indices[at].astype(np.int64), value)
        labels = _split(labels, more)
    return labels


def _split(labels: Ints, other: Ints) -> Ints:
    """Return labels of the pairs of both labels, from 0 without gaps."""
    if not len(labels):
        return labels
    _, found = np.unique(labels * (int(other.max()) + 1) + other, return_inverse=True)
    return np.asarray(found, dtype=np.int64)


def _numbered(labels: Ints) -> Classes:
    _, first, found, size = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Classes(
        of=rank[found.ravel()], representative=first[order].astype(np.int64), size=size[order].astype(np.int64)
    )
