"""Penalties that a known point does not pay are left out of relaxations, and put back if they are missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from libs.assignment.solvers.portfolio import relaxation as relaxation_module
from libs.assignment.solvers.portfolio import unpaid as unpaid_module
from libs.assignment.solvers.portfolio.relaxation import relax
from libs.assignment.solvers.portfolio.unpaid import penalties, unpaid
from libs.mip.bound import bound_from_prices
from libs.mip.model import Model
from tests.libs.assignment.solvers.portfolio.test_solver import lowered_world


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The models of the linear programs that a relaxation solves, in order."""
    models, solve = list[Model](), relaxation_module.solve_lp

    def record(model: Model, *given: Any, **named: Any) -> Any:
        models.append(model)
        return solve(model, *given, **named)

    monkeypatch.setattr(relaxation_module, "solve_lp", record)
    return models


@pytest.mark.parametrize("seed", range(4))
def test_without_penalties_that_are_not_paid_the_answer_is_the_same(
    seed: int, solved: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpaid_module, "DEAR", 10.0)  # missing objects cost 50, and all else 1 to 3
    lowered, phases = lowered_world(seed)
    model, begin = phases.model, lowered.point_of(phases.mended(lowered.held))
    whole = relax(lowered, model)
    solved.clear()
    found = relax(lowered, model, left_out=unpaid(model, penalties(model), begin))
    held = (model.upper > model.lower) & (solved[0].upper == solved[0].lower)
    assert set(model.cost[held]) == {50.0}
    assert (begin[held] <= model.lower[held] + 1e-9).all()
    assert found.bound == pytest.approx(whole.bound, rel=1e-6)
    assert found.rows is not None
    assert found.bound == bound_from_prices(model, found.rows)


@pytest.mark.parametrize("seed", range(4))
def test_penalties_that_are_missed_are_put_back(
    seed: int, solved: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered, phases = lowered_world(seed)
    model, begin = phases.model, lowered.point_of(lowered.held)  # no object moves
    whole = relax(lowered, model)
    monkeypatch.setattr(unpaid_module, "DEAR", 0.1)  # so moves are penalties too, and pay
    solved.clear()
    found = relax(lowered, model, left_out=unpaid(model, penalties(model), begin))
    assert len(solved) == 2
    assert solved[1] is model
    assert found.bound == whole.bound
    assert found.point is not None
    assert whole.point is not None
    assert np.array_equal(found.point, whole.point)
