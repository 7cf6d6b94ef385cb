"""The solver that needs no tuning: it looks at the problem, picks a solver, and says which and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from libs.assignment.errors import ModelError, NotLowerable
from libs.assignment.lowering.movement import movement
from libs.assignment.lowering.stated import state
from libs.assignment.lowering.wants import wants
from libs.assignment.problem import Problem
from libs.assignment.solvers.limits import MipLimits, SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned import Partitioning, solve_partitioned
from libs.assignment.solvers.portfolio import solve_portfolio
from libs.assignment.solvers.price import solve_price, why_not
from libs.assignment.solvers.result import Result

MIP_PAIRS = 3_000
"""Pairs of a class of objects and a container that branch and bound copes with."""
MIP_NODES = 2_000
"""Nodes of its tree, each priority: a number, so that the answer does not hang on the clock."""
ALIKE = 4
"""Objects of a class, on average, from which on counting them is worth more than looking at each."""
PART_OBJECTS = 250_000
"""Objects that one local search copes with; with more, the problem is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A solver, and why it is the one."""

    solver: str
    why: str
    solve: Callable[..., Result]


def choose(problem: Problem) -> Choice:
    """By structure first, then by size: price, mip, portfolio, partitioned, local."""
    if why_not(problem) is None:
        why = "objects that are worth something are to be placed within capacities"
        return Choice(solver="price", why=why, solve=solve_price)
    classes, refused = _classes(problem)
    pairs = None if classes is None else classes * len(problem.containers)
    objects = len(problem.objects)
    if pairs is not None and pairs <= MIP_PAIRS:
        why = f"{pairs} pairs of a class of objects and a container are few enough for branch and bound"
        return Choice(solver="mip", why=why, solve=_small_tree)
    if classes is not None and classes * ALIKE <= objects:
        why = f"{objects} objects are of {classes} classes, so they are counted"
        return Choice(solver="portfolio", why=why, solve=solve_portfolio)
    large = refused or f"{pairs} pairs of a class of objects and a container are too many for branch and bound"
    if objects > PART_OBJECTS:
        return Choice(
            solver="partitioned", why=f"{large}; {objects} objects are too many for one search", solve=_in_parts
        )
    return Choice(solver="local", why=large, solve=solve_local)


def solve_auto(problem: Problem, limits: SearchLimits | None = None, *, seed: int = 0) -> Result:
    """What the solver that is chosen answers, which one it was, and why."""
    choice = choose(problem)
    notes = [f"auto chose {choice.solver}: {choice.why}"]
    try:
        result = choice.solve(problem, limits, seed=seed)
    except NotLowerable as refused:
        notes = [f"auto chose local: {refused}"]
        result = solve_local(problem, limits, seed=seed)
    return replace(result, notes=(*notes, *result.notes))


def _classes(problem: Problem) -> tuple[int | None, str]:
    """How many classes the objects are of, or None and why the problem has no integer form."""
    try:
        stated = state(problem)
        return len(movement(stated, wants(stated)).classes.size), ""
    except ModelError as refused:
        return None, str(refused)


def _small_tree(problem: Problem, limits: SearchLimits | None, *, seed: int) -> Result:
    time_s_max = (limits or SearchLimits()).time_s_max
    return solve_mip(problem, MipLimits(time_s_max=time_s_max, nodes_max=MIP_NODES), seed=seed)


def _in_parts(problem: Problem, limits: SearchLimits | None, *, seed: int) -> Result:
    options = Partitioning(parts=-(-len(problem.objects) // PART_OBJECTS))
    return solve_partitioned(problem, limits, seed=seed, options=options)
