"""Test the step size of linear functions of integers."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from libs.assignment.model.affine import Affine
from libs.assignment.model.granularity import grain, multiples


@pytest.mark.filterwarnings("error")
def test_a_coefficient_that_underflowed_to_zero_is_none() -> None:
    matrix = csr_array(([0.0, 3.0, 6.0], [0, 1, 2], [0, 3]), shape=(1, 3))
    x: Any = SimpleNamespace(matrix=matrix, constant=np.zeros(1))
    of: Affine = x
    columns: Any = SimpleNamespace(whole=np.ones(3, bool))
    some = np.array([0])
    smallest, whole = multiples(columns, of, some)
    assert smallest.tolist() == [3.0]
    assert whole.tolist() == [True]
    assert grain(columns, of, some).tolist() == [3.0]
