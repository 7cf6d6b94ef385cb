"""Check the words of a result."""

from __future__ import annotations

from dataclasses import replace

from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceSpec
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.settings import SearchLimits


def test_what_is_broken_is_said_and_what_sums_of_floats_leave_is_not() -> None:
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    problem.add_goal(BalanceSpec(dimension="count"))
    result = solve_local(problem, SearchLimits(tries_max=100))
    assert result.in_words().startswith("1 object moves; ")
    broken = replace(result, broken=(3.0, 0.5))
    assert "constraints are broken by 0.5 (at the start 3)" in broken.in_words()
    assert "broken" not in replace(result, broken=(8.9e-15, 1.8e-15)).in_words()
