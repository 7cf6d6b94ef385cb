"""Compile the kernels of all solvers ahead of time: `python -m libs.assignment.warm`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from libs.assignment.graph.linear import DENSE_ELEMENTS_MAX
from libs.assignment.language.problem import Problem
from libs.assignment.language.specs.balance import BalanceFormula, BalanceSpec
from libs.assignment.language.specs.capacity import CapacitySpec
from libs.assignment.language.specs.filter import Filter
from libs.assignment.language.specs.group_count import GroupCountSpec
from libs.assignment.language.specs.group_diversity import GroupDiversitySpec
from libs.assignment.language.specs.limit import Bound, Limit
from libs.assignment.language.specs.maximize_allocation import MaximizeAllocationSpec
from libs.assignment.language.specs.minimize_movement import MinimizeMovementSpec
from libs.assignment.report.explain.explainer import Explainer
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.portfolio.solver import solve_portfolio
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.settings import PortfolioLimits, SearchLimits


def warm(tell: Callable[[str], object] = lambda _: None) -> None:
    """Solve small problems that use all kernels. `tell` takes a line after each; compiling takes a while."""
    problem, limits = uneven(), PortfolioLimits(exact_columns_max=0)
    steps: dict[str, Callable[[], object]] = {
        "local search": lambda: solve_local(problem, SearchLimits()),  # it ends by itself, at a local optimum
        "portfolio": lambda: [solve_portfolio(one, limits) for one in (problem, strewn())],
        "prices": lambda: solve_price(market()),
        "explanations": lambda: Explainer(scattered()).move(0, 1),
    }
    for number, (name, step) in enumerate(steps.items(), 1):
        began = time.perf_counter()
        step()
        tell(f"kernels of {name}: {time.perf_counter() - began:.0f} s, {number} of {len(steps)}\n")


def uneven() -> Problem:
    """Return three objects on two containers. They are never in balance, so a search tries all its moves."""
    problem = Problem(objects=3, containers=2, initial=[0, 0, 0])
    problem.add_goal(BalanceSpec(dimension="count", formula=BalanceFormula.LINEAR))
    return problem


def strewn() -> Problem:
    """Return six objects of two groups in a container that pays for the second group, and more of the first one."""
    problem = Problem(objects=9, containers=2, initial=[0] * 6 + [1] * 3)
    problem.add_partition("group", [0] * 3 + [1] * 3 + [0] * 3, 2)
    wanted = CapacitySpec(dimension="count", limit=Limit(items=[6.0, 0.0]), bound=Bound.MIN)
    problem.add_goal(wanted, weight=100.0, normalise=False)
    problem.add_goal(MinimizeMovementSpec(), normalise=False)
    few = GroupDiversitySpec(partition="group", limit=Limit(default=1.0), bound=Bound.MAX, filter=Filter(items=[0]))
    problem.add_goal(few, weight=10.0, normalise=False)
    return problem


def market() -> Problem:
    """Return a market with two objects of a job, and one object without room."""
    problem = Problem(objects=4, containers=3, initial=[2] * 4)
    placed = Filter(but=[2])
    problem.add_dimension("size", [1.0, 1.0, 2.0, 2.0], containers=[2.0, 2.0, 0.0])
    problem.add_constraint(CapacitySpec(dimension="size", filter=placed))
    problem.add_partition("job", [0, 0, -1, -1])
    problem.add_constraint(GroupCountSpec(partition="job", limit=Limit(default=1.0), filter=placed))
    problem.add_dimension("worth", [4.0, 4.0, 3.0, 2.0])
    problem.add_goal(MaximizeAllocationSpec(dimension="worth", filter=placed))
    return problem


def scattered() -> Problem:
    """Return more pairs of a container and a group than are stored one by one."""
    side = int(DENSE_ELEMENTS_MAX**0.5) + 1
    problem = Problem(objects=3, containers=side, initial=[0, 0, 1])
    problem.add_partition("job", np.arange(3), side)
    problem.add_constraint(GroupCountSpec(partition="job", limit=Limit(default=1.0)))
    return problem


def main() -> None:
    """Compile all kernels, and print the time."""
    began = time.perf_counter()
    warm(sys.stderr.write)
    sys.stderr.write(f"kernels are ready after {time.perf_counter() - began:.0f} s\n")


if __name__ == "__main__":
    main()
