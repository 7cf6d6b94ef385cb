"""Make sparse matrices of one type: the maps between objects, groups, scope items and containers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Matrix = Any
"""A scipy.sparse.csr_array of floats. The stubs of scipy do not type its products."""


def csr(given: Any, shape: tuple[int, int] | None = None) -> Matrix:
    """Return a matrix stored by rows, from entries (values, (rows, columns)), rows (values, indices, starts) or an
    array.
    """
    return sparse.csr_array(given, shape=shape, dtype=np.float64)


def csc(given: Any) -> Matrix:
    """Return the matrix stored by columns."""
    return sparse.csc_array(given, dtype=np.float64)
