"""Prices of supply that follow from those of containers are the best ones."""

from __future__ import annotations

import numpy as np
import pytest

from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.supply_prices import with_supply
from libs.mip.bound import bound_from_prices, usable_prices
from tests.libs.assignment.solvers.portfolio.test_solver import lowered_world


@pytest.mark.parametrize("seed", range(4))
def test_no_other_prices_of_supply_bound_more(seed: int) -> None:
    lowered, phases = lowered_world(seed)
    model, rng = phases.model, np.random.default_rng(seed)
    whole = relax(lowered, model)
    assert whole.rows is not None
    best = with_supply(lowered, model, whole.rows)
    bound = bound_from_prices(model, best)
    assert bound >= bound_from_prices(model, whole.rows) - 1e-6
    first_own = len(lowered.classes.size) + len(lowered.leaving.held)
    assert (best[first_own:] == usable_prices(model, whole.rows)[first_own:]).all()
    for _ in range(50):
        other = best.copy()
        other[:first_own] += rng.normal(0.0, 1.0, first_own)
        assert bound_from_prices(model, other) <= bound + 1e-6
