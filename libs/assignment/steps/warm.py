"""Compile the kernels ahead of time: `python -m libs.assignment.steps.warm`."""

from __future__ import annotations

from libs.assignment.portfolio.limits import PortfolioLimits
from libs.assignment.problem import Problem
from libs.assignment.solvers.portfolio import solve_portfolio
from libs.assignment.specs.balance import BalanceFormula, BalanceSpec


def main() -> None:
    """A small problem that goes through all of them."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.LINEAR))
    solve_portfolio(problem, PortfolioLimits(exact_columns_max=0))


if __name__ == "__main__":
    main()
