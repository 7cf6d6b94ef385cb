"""Compile the kernels ahead of time: `python -m libs.assignment.steps.warm`."""

from __future__ import annotations

from libs.assignment.lowering.lower import lower
from libs.assignment.problem import Problem
from libs.assignment.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.steps.walk import Walk


def main() -> None:
    """A small problem that goes through all of them."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.LINEAR))
    lowered = lower(problem)
    Walk(lowered, lowered.at(1, (0.0,))).down(lowered.held, 1e-9, lambda: False)


if __name__ == "__main__":
    main()
