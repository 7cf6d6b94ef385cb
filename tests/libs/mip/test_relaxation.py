import numpy as np
import pytest

from libs.mip.highs import solve_lp
from libs.mip.model import Mip
from libs.mip.relaxation import least_relaxation


def contradiction():
    """Return x + y >= 10 with x <= 4 and y <= 3, and a row x >= 1."""
    m = Mip()
    x = m.add_columns(2, upper=np.array([4.0, 3.0]), cost=1.0)
    m.add_rows(1, (np.zeros(2, int), x, 1.0), lower=10.0)
    floor = m.add_rows(1, (0, x[0], 1.0), lower=1.0)
    return m.build(), x, floor


def test_the_least_that_has_to_give():
    model, x, floor = contradiction()
    assert solve_lp(model, "simplex").infeasible
    columns, rows = least_relaxation(model, x, floor)
    assert columns.sum() == pytest.approx(3.0)
    assert rows.tolist() == [0.0]
    columns, rows = least_relaxation(model, x[:0], np.array([0]))
    assert rows == pytest.approx([-3.0])  # the row lies below its lower bound


def test_bounds_that_cannot_help():
    model, x, floor = contradiction()
    assert least_relaxation(model, x[:0], floor) is None


def test_a_basis_carries_over_to_a_model_of_the_same_shape():
    rng = np.random.default_rng(4)
    m = Mip()
    x = m.add_columns(60, cost=rng.uniform(1, 2, 60), upper=5.0)
    for row in range(30):
        m.add_rows(
            1, (np.zeros(10, int), x[rng.choice(60, 10, replace=False)], rng.uniform(0.5, 1, 10)), lower=3.0 + row % 3
        )
    model = m.build()
    first = solve_lp(model, "ipm", vertex=True)
    again = solve_lp(model, "ipm", start=first.basis)
    assert again.objective == pytest.approx(first.objective, rel=1e-9)
    assert again.optimal
    assert solve_lp(model, "ipm").basis is None  # a central point has no basis
