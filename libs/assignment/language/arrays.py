"""Define array types, and check every array of a problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from libs.assignment.language.errors import BadValues, shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def checked_values(where: str, given: ArrayLike, length: int, *, signed: bool = False) -> Floats:
    """Return (length,) finite floats; a scalar counts for all. Refuse negative values unless `signed`."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadValues(f"{where}: expected {length} numbers, or one for all: {error}") from error
    if values.ndim == 0:
        values = np.full(length, float(values))
    if values.shape != (length,):
        raise BadValues(f"{where}: expected {length} values, got an array of shape {values.shape}")
    return finite(where, values, signed=signed)


def checked_table(where: str, given: ArrayLike, columns: int, noun: str, *, signed: bool = False) -> Floats:
    """Return (rows, columns) finite floats; a single row may be flat. `noun` tells what a column stands for."""
    try:
        table = np.atleast_2d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise BadValues(f"{where}: expected rows of {columns} numbers: {error}") from error
    if table.ndim != 2 or table.shape[1] != columns:
        raise BadValues(f"{where}: table has shape {table.shape}; expected {columns} columns, one per {noun}")
    return finite(f"{where}, table", table, signed=signed)


def finite(where: str, values: Floats, *, signed: bool, infinite: bool = False) -> Floats:
    """Return the values unchanged. Raises BadValues with the positions of values that are not finite or negative."""
    bad = np.isnan(values) if infinite else ~np.isfinite(values)
    if bad.any():
        raise BadValues(f"{where}: values at {shown(np.argwhere(bad).tolist())} are not finite numbers")
    if not signed and (values < 0).any():
        at = np.argwhere(values < 0)
        found = f"{shown(at.tolist())} ({shown(values[values < 0].tolist())})"
        raise BadValues(f"{where}: values are negative at {found}; pass signed=True if they may be")
    return values


def checked_indices(where: str, given: ArrayLike, length: int, size: int, *, none: bool = False) -> Ints:
    """Return (length,) indices below `size`; if `none` is true, -1 is allowed and means no index."""
    indices = np.asarray(given)
    if indices.shape != (length,):
        raise BadValues(f"{where}: expected {length} indices, got an array of shape {indices.shape}")
    if indices.size and not np.issubdtype(indices.dtype, np.integer):
        names = indices.dtype.kind in "OSTU"
        how = "; numpy.unique(names, return_inverse=True) turns names into indices" if names else ""
        raise BadValues(f"{where}: expected integers, got {indices.dtype}{how}")
    bad = (indices < (-1 if none else 0)) | (indices >= size)
    if bad.any():
        raise BadValues(f"{where}: indices are outside 0..{size - 1} at {shown(np.flatnonzero(bad).tolist())}")
    return indices.astype(np.int64)
