"""Check the tree of a whole problem, which costs less where it is larger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from libs.assignment.solvers.limits import StoppedBy
from libs.assignment.solvers.portfolio import whole_tree
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.mip.highs import Solution
from tests.libs.assignment.solvers.portfolio.test_solver import SEARCHED, world


@pytest.mark.parametrize("counts_max", [whole_tree.SMALL, 10])
def test_only_small_trees_restart_and_solve_both_sides_of_branches(
    counts_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, solve_surely = list[tuple[bool, bool]](), whole_tree.solve_surely

    def watched(*given: Any, restarts: bool, strong_branching: bool, **named: Any) -> Solution:
        asked.append((restarts, strong_branching))
        return solve_surely(*given, restarts=restarts, strong_branching=strong_branching, **named)

    monkeypatch.setattr(whole_tree, "solve_surely", watched)
    monkeypatch.setattr(whole_tree, "SMALL", counts_max)
    settled = solve_portfolio(world(1), replace(SEARCHED, stall=1, exact_columns_max=1))
    assert settled.size is not None
    small = settled.size.counts <= counts_max
    assert asked == [(small, small)] * len(asked) != []
    assert settled.stopped_by is StoppedBy.OPTIMAL
    assert settled.bound[1] == pytest.approx(settled.objective[1][0], rel=1e-5)
