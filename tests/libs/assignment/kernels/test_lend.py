"""Kernels get arrays without owners, or pointers to contiguous arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core.errors import TypingError

from libs.assignment.kernels.jit import compiled
from libs.assignment.kernels.lend import lend, pointer
from libs.assignment.language.arrays import Floats


@compiled
def third_of_pointer(array: Floats) -> float:
    """Set the third number to 7 by a pointer, and return what it was."""
    first = pointer(array)
    before: float = first[2]
    first[2] = 7.0
    return before


@compiled
def sum_of_lent(array: Floats) -> float:
    """Return the sum of an array that is lent."""
    borrowed = lend(array)
    return float(borrowed.sum())


def test_a_pointer_reads_and_writes_the_array_of_its_owner() -> None:
    array = np.arange(5.0)
    assert third_of_pointer(array) == 2.0
    assert array.tolist() == [0.0, 1.0, 7.0, 3.0, 4.0]
    assert sum_of_lent(array) == 15.0


def test_only_a_contiguous_array_of_one_dimension_has_a_pointer() -> None:
    for array in (np.arange(10.0)[::2], np.zeros((2, 3))):
        with pytest.raises(TypingError, match="contiguous"):
            third_of_pointer(array)
