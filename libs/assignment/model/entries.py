"""Compute the entries of a product of a map over rows and a map over columns."""

from __future__ import annotations

import numpy as np

from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.language.matrices import Matrix, csc


def outer_entries(
    rows: Matrix | None, i: Ints, columns: Matrix | None, j: Ints, width: int
) -> tuple[Ints, Ints, Floats]:
    """Return the entries of rows[:, i[s]] (outer) columns[:, j[s]] for each source s, by index arithmetic.

    Returns (target, source, coefficient): target = row * width + column of the product's shape (rows, width). A map of
    None is the identity.
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
