"""Compile the kernels ahead of time: `python -m libs.assignment.search.warm`."""

from __future__ import annotations

from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.specs.balance import BalanceFormula, BalanceSpec


def main() -> None:
    """A small problem that goes through all of them: three objects on two containers are never quite in balance."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.IDEAL))
    solve_local(problem, SearchLimits(tries_max=2_000))


if __name__ == "__main__":
    main()
