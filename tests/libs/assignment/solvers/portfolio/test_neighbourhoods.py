"""Check how long a search of neighbourhoods goes on without a gain."""

from __future__ import annotations

import pytest

from libs.assignment.solvers.portfolio import neighbourhoods
from libs.assignment.solvers.portfolio.neighbourhoods import default_stall
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, world


def test_a_small_problem_waits_longer_for_a_gain() -> None:
    assert default_stall(containers=60, counts=900) == 30
    assert default_stall(containers=60, counts=9_000) == 8
    assert default_stall(containers=1_000, counts=900) == default_stall(containers=1_000, counts=150_000) == 40


def test_a_search_of_a_small_problem_waits_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    small = solve_portfolio(world(1), SEARCHED)
    monkeypatch.setattr(neighbourhoods, "FEW_COUNTS", 0)
    assert solve_portfolio(world(1), SEARCHED).tries < small.tries
