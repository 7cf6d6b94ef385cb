"""Compute the entries of a product of a map over rows and a map over columns."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.matrices import Matrix, csc


def outer_entries(
    rows: Matrix | None, i: Ints, columns: Matrix | None, j: Ints, width: int
) -> tuple[Ints, Ints, Floats]:
    """Return the entries of the outer product of rows[:, i[s]] and columns[:, j[s]], for each source s.

    A source is one pair (i[s], j[s]). The outer products have the shape (rows, width). The function returns three
    arrays with one item per entry: target, source and coefficient. The target of the entry in row r and column c is
    r * width + c.

    rows, columns   the maps over rows and over columns; None: the identity
    i, j            the column of `rows`, and the column of `columns`, that each source takes
    width           the number of columns of the outer products
    """
    row, source, by_row = _listed(rows, i)
    count, first, column, by_column = _spans(columns, j)
    repeats = count[source]
    at = (
        np.arange(int(repeats.sum()))
        - np.repeat(np.cumsum(repeats) - repeats, repeats)
        + np.repeat(first[source], repeats)
    )
    target = np.repeat(row, repeats) * width + column[at]
    return target, np.repeat(source, repeats), np.repeat(by_row, repeats) * by_column[at]


def _spans(given: Matrix | None, j: Ints) -> tuple[Ints, Ints, Ints, Floats]:
    """Return per source the number of entries and the first of them; then the entries' indices and values."""
    if given is None:
        return np.ones(len(j), np.int64), np.arange(len(j)), j, np.ones(len(j))
    by_column = csc(given)
    first = by_column.indptr[j].astype(np.int64)
    return by_column.indptr[j + 1] - first, first, by_column.indices.astype(np.int64), by_column.data


def _listed(given: Matrix | None, j: Ints) -> tuple[Ints, Ints, Floats]:
    """Return index, source and value of every entry of every source."""
    count, first, index, value = _spans(given, j)
    source = np.repeat(np.arange(len(j)), count)
    at = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    return index[at], source, value[at]
