"""Check the bounds of the last level that follow from the relaxation of all levels together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from libs.assignment.model.lower import lower
from libs.assignment.model.lowered import Lowered
from libs.assignment.solvers.portfolio.bound_of_last import BoundOfLast
from libs.assignment.solvers.portfolio.relaxation import Relaxation, relax
from libs.mip.highs import Limits, solve_lp
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.test_joint import ordered

SEEDS = range(5)


def levels_of(seed: int) -> tuple[Lowered, Model, Model, Relaxation]:
    """Return a problem, its last level, the level above, and the relaxation of their sum."""
    lowered = lower(ordered(seed))
    held, (_, first, second) = lowered.at(1, [0.0]), lowered.levels
    above = replace(held, cost=first.cost, offset=first.offset)
    last = replace(held, cost=second.cost, offset=second.offset)
    both = replace(held, cost=first.cost + second.cost, offset=first.offset + second.offset)
    return lowered, last, above, relax(lowered, both)


def exact(last: Model, above: Model, most: float) -> float:
    """Return the least relaxed value of the last level with a row that limits the level above."""
    matrix = sp.csc_array(sp.vstack([last.matrix, sp.csr_array(above.cost[None, :])]))
    lower_, upper = np.append(last.row_lower, -np.inf), np.append(last.row_upper, most - above.offset)
    return solve_lp(replace(last, matrix=matrix, row_lower=lower_, row_upper=upper), "simplex", Limits()).bound


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_hold_and_are_no_weaker_than_the_sum_less_the_limit(seed: int) -> None:
    _, last, above, relaxation = levels_of(seed)
    assert relaxation.rows is not None
    assert relaxation.point is not None
    bound, least = BoundOfLast(last=last, above=above, price=relaxation.rows), above.objective(relaxation.point)
    for more in (0.0, 0.5, 3.0, 20.0):
        most = least + more
        found = bound.at(most)
        assert found <= exact(last, above, most) + 1e-6 * max(1.0, abs(found))
        assert found >= relaxation.bound - most - 1e-9


def test_bounds_are_near_the_exact_ones_if_the_relaxation_needs_nothing_of_the_level_above() -> None:
    found, truth, plain = [], [], []
    for seed in SEEDS:
        _, last, above, relaxation = levels_of(seed)
        assert relaxation.rows is not None
        most = 5.0
        found.append(BoundOfLast(last=last, above=above, price=relaxation.rows).at(most))
        truth.append(exact(last, above, most))
        plain.append(relaxation.bound - most)
    lost, lost_plain = np.subtract(truth, found), np.subtract(truth, plain)
    assert (lost <= lost_plain + 1e-9).all()
    assert lost.sum() < 0.5 * lost_plain.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_objective_at_its_least_needs_no_prices(seed: int) -> None:
    lowered, _, above, relaxation = levels_of(seed)
    assert relaxation.point is not None
    least = lowered.levels[1].least(above)
    known = relaxation.at_least(above, least)
    assert known.fractional is relaxation.fractional
    assert known.bound == least
    assert (known.reduced == above.cost[: len(lowered.kind)]).all()
    if above.objective(relaxation.point) <= least + 1e-6:
        assert relax(lowered, above).bound == pytest.approx(least, abs=1e-5)
