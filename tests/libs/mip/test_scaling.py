"""Scale models into units that suit a solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from libs.mip.highs import solve_lp, solve_mip
from libs.mip.model import Model
from libs.mip.scaling import RANGE, scaled


def model(cost, rows, row_upper, upper, integer) -> Model:
    """Return min cost @ x, rows @ x <= row_upper, 0 <= x <= upper."""
    return Model(
        cost=np.array(cost, float),
        lower=np.zeros(len(cost)),
        upper=np.array(upper, float),
        integer=np.array(integer, bool),
        row_lower=np.full(len(rows), -np.inf),
        row_upper=np.array(row_upper, float),
        matrix=sp.csc_array(np.array(rows, float)),
    )


def test_a_model_near_1_is_left_as_it_is() -> None:
    given = model([-1.0, 2.0], [[3.0, 1e-3]], [4.0], [1.0, 1e6], [True, False])
    assert scaled(given).model is given


def test_numbers_far_from_1_are_brought_there_without_rounding() -> None:
    given = model([1 / 3e9, -1.0], [[-1.0, 3e9], [0.0, 5e-9]], [0.0, 5e-9], [3e9, 1.0], [False, True])
    found = scaled(given)
    numbers = np.abs(np.concatenate([found.model.cost, found.model.matrix.data, found.model.upper]))
    assert (numbers >= 0.5).all()
    assert (numbers <= 4.0).all()
    units = np.concatenate([found.column, found.row, [found.objective]])
    assert (np.log2(units) % 1.0 == 0.0).all()
    assert found.column[1] == 1.0, "integers stay what they are"
    back = found.model.matrix.toarray() / found.row[:, None] / found.column
    assert (back == given.matrix.toarray()).all()


def test_what_is_small_beside_what_is_large_still_counts() -> None:
    found = scaled(model([0.0, 0.0], [[1e9, 1.0]], [1e9], [1.0, 1.0], [True, True]))
    assert np.abs(found.model.matrix.data).min() > 1e-6
    assert np.abs(found.model.matrix.data).max() <= RANGE
    mip = solve_mip(model([-3.0, -1.0], [[1e9, 1.0]], [1e9], [1.0, 1.0], [True, True]), tolerance=1e-9)
    assert np.rint(mip.x).tolist() == [1.0, 0.0]


def test_costs_that_are_lost_beside_others_are_taken_from_the_bound() -> None:
    given = model([-1e15, -1.0], [[1.0, 1.0]], [2.0], [1.0, 1.0], [True, True])
    assert scaled(given).hidden == 1.0
    assert solve_mip(given).bound <= -1e15 - 1.0
    assert scaled(replace(given, cost=np.array([-1e9, -1.0]))).hidden == 0.0


@pytest.mark.parametrize("unit", [1e9, 1.0, 1e-9])
def test_answers_prices_and_bounds_come_back_in_the_units_of_the_model(unit) -> None:
    """min x / unit with x >= 3 unit n and n = 1: the row's price is the cost of x."""
    rows = [[-1.0, 3.0 * unit], [0.0, -1.0]]
    given = model([1.0 / unit, 0.0], rows, [0.0, -1.0], [9.0 * unit, 1.0], [False, True])
    whole, linear = solve_mip(given), solve_lp(given, "simplex")
    for found in (whole, linear):
        assert found.x == pytest.approx([3.0 * unit, 1.0])
        assert found.objective == pytest.approx(3.0)
        assert found.bound == pytest.approx(3.0, rel=1e-5), "less what the solver passes over"
    assert linear.price is not None
    assert linear.price[0] == pytest.approx(-1.0 / unit)
    assert solve_mip(given, start=np.array([3.0 * unit, 1.0])).objective == pytest.approx(3.0)
