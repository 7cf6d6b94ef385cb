"""The solver that needs no tuning: it looks at the problem, picks a solver, and says which and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.solvers.partitioned import Partitioning, solve_partitioned
from libs.assignment.solvers.result import Result

PART_OBJECTS = 250_000
"""Objects that one local search copes with; with more, the problem is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A solver, and why it is the one."""

    solver: str
    why: str
    solve: Callable[..., Result]


def choose(problem: Problem) -> Choice:
    """By structure first, then by size."""
    objects = len(problem.objects)
    if objects > PART_OBJECTS:
        options = Partitioning(parts=-(-objects // PART_OBJECTS))

        def solve(problem: Problem, limits: SearchLimits | None, *, seed: int) -> Result:
            return solve_partitioned(problem, limits, seed=seed, options=options)

        return Choice(solver="partitioned", why=f"{objects} objects are more than {PART_OBJECTS}", solve=solve)
    return Choice(solver="local", why=f"{objects} objects are no more than {PART_OBJECTS}", solve=solve_local)


def solve_auto(problem: Problem, limits: SearchLimits | None = None, *, seed: int = 0) -> Result:
    """What the solver that is chosen answers, which one it was, and why."""
    choice = choose(problem)
    result = choice.solve(problem, limits, seed=seed)
    return replace(result, notes=(f"auto chose {choice.solver}: {choice.why}", *result.notes))
