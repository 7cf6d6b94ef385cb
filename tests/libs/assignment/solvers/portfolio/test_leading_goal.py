"""Check the further work on a goal that comes before another one: wide neighbourhoods, and branch and bound."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from libs.assignment.language.arrays import Ints
from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.portfolio import joint_columns, phases, solver
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.settings import MipLimits
from tests.libs.assignment.solvers.portfolio.test_joint import ordered
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED

FEW = replace(SEARCHED, stall=1)
"""Without branch and bound, and with hardly any small neighbourhoods."""


@pytest.mark.parametrize("seed", [0, 8])
def test_wide_neighbourhoods_find_what_small_ones_miss(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parties want more than there is, so that no object is free. Cuts would let small ones find it too."""
    monkeypatch.setattr("libs.assignment.model.lower.with_rounding_cuts", lambda model, **_: model)
    monkeypatch.setattr(joint_columns, "SCARCE", math.inf)  # columns may find it before
    problem = ordered(seed, 40, wanted=1.8)
    wide = solve_portfolio(problem, FEW)
    limited = solve_portfolio(problem, replace(FEW, neighbourhoods_max=30))
    monkeypatch.setattr(phases, "WIDE_TRIES", 0)
    small = solve_portfolio(problem, FEW)
    least = solve_mip(problem, MipLimits(relative_gap=1e-6)).objective[1][0]
    assert wide.objective[1][0] == pytest.approx(least, rel=1e-5)
    assert wide.objective[1][0] < small.objective[1][0]
    assert wide.tries > small.tries
    assert limited.objective == small.objective, "no more work than the caller asks for"


@pytest.mark.parametrize("seed", [0, 8])
def test_branch_and_bound_settles_a_leading_goal_of_more_counts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ordered(seed, 40, wanted=1.8)
    limits = replace(FEW, exact_columns_max=1)
    monkeypatch.setattr(solver, "MEDIUM", 0)
    settled = solve_portfolio(problem, limits)
    (first, last), (least, bound_of_last) = settled.objective[1], settled.bound[1:]
    assert least == pytest.approx(first, rel=1e-5), "the first goal is proven"
    assert bound_of_last < 0.99 * last, "the last one is searched only"
    assert settled.stopped_by is StoppedBy.WORK
    monkeypatch.setattr(solver, "MEDIUM_LEADING", 0)
    searched = solve_portfolio(problem, limits)
    assert searched.objective == settled.objective
    assert searched.bound[1] < 0.95 * first


@pytest.mark.parametrize("settling", [solver.SETTLING, 700])
def test_more_counts_leave_fewer_nodes_to_branch_and_bound(settling: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Watched(solver.Phases):
        def settled(self, counts: Ints) -> Ints:
            asked.append(self.limits.exact_nodes_max)
            return super().settled(counts)

    monkeypatch.setattr(solver, "Phases", Watched)
    monkeypatch.setattr(solver, "SETTLING", settling)
    found = solve_portfolio(ordered(0, 40, wanted=1.8), replace(FEW, exact_columns_max=1))
    assert asked
    assert set(asked) == {min(500, settling // found.size.counts)}
