"""Compile the kernels ahead of time: `python -m libs.assignment.search.warm`."""

from __future__ import annotations

from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.limit import Limit


def main() -> None:
    """The smallest problem that goes through all of them."""
    problem = Problem(objects=2, containers=2, initial=[0, 0])
    problem.add_goal(CapacitySpec(dimension="count", limit=Limit(default=1)))
    solve_local(problem, SearchLimits(tries_max=10))


if __name__ == "__main__":
    main()
