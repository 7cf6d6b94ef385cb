"""Compile the kernels ahead of time: `python -m libs.assignment.prices.warm`."""

from __future__ import annotations

from libs.assignment.problem import Problem
from libs.assignment.solvers.price import solve_price
from libs.assignment.specs.capacity import CapacitySpec
from libs.assignment.specs.filter import Filter
from libs.assignment.specs.group_count import GroupCountSpec
from libs.assignment.specs.limit import Limit
from libs.assignment.specs.maximize_allocation import MaximizeAllocationSpec


def main() -> None:
    """A small problem that goes through all of them: two of a job, and one that finds no room."""
    problem = Problem(objects=4, containers=3, initial=[2] * 4)
    placed = Filter(but=[2])
    problem.add_dimension("size", [1.0, 1.0, 2.0, 2.0], containers=[2.0, 2.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="size", filter=placed))
    problem.add_partition("job", [0, 0, -1, -1])
    problem.add_constraint(GroupCountSpec(partition="job", limit=Limit(default=1.0), filter=placed))
    problem.add_dimension("worth", [4.0, 4.0, 3.0, 2.0])
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed))
    solve_price(problem)


if __name__ == "__main__":
    main()
