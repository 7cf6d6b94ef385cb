"""The solver that needs no tuning: it looks at the problem, picks a solver, and says which and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from libs.assignment.compiled import Compiled
from libs.assignment.errors import BadValues, ModelError, NotLowerable
from libs.assignment.lowering.movement import movement
from libs.assignment.lowering.wants import wants
from libs.assignment.prices.recognise import Reading, read_market
from libs.assignment.problem import Problem
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.limits import AUTO_S_MAX, MipLimits, SearchLimits
from libs.assignment.solvers.local import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned import Partitioning, solve_partitioned
from libs.assignment.solvers.portfolio import ALIKE, solve_portfolio
from libs.assignment.solvers.price import solve_price
from libs.assignment.solvers.result import Result

MIP_PAIRS = 3_000
"""Pairs of a class of objects and a container that branch and bound copes with."""
MIP_NODES = 2_000
"""Nodes of its tree, each priority: a number, so that the answer does not hang on the clock."""
PART_OBJECTS = 250_000
"""Objects that one local search copes with; with more, the problem is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A solver, and why it is the one."""

    solver: str
    why: str
    solve: Callable[..., Result]


def choose(compiled: Compiled) -> Choice:
    """By size where that is small, then by structure: mip, price, portfolio, partitioned, local."""
    objects, containers = len(compiled.problem.objects), len(compiled.problem.containers)
    reading = _reading(compiled)
    priced = Choice(
        solver="price",
        why="objects that are worth something are to be placed within capacities",
        solve=partial(solve_price, reading=reading),
    )
    if reading is not None and not reading.left_out and containers > MIP_PAIRS:
        return priced
    classes, refused = _classes(compiled)
    pairs = None if classes is None else classes * containers
    if pairs is not None and pairs <= MIP_PAIRS:
        why = f"{pairs} pairs of a class of objects and a container are few enough for branch and bound"
        return Choice(solver="mip", why=why, solve=_small_tree)
    alike = classes is not None and classes * ALIKE <= objects
    if reading is not None and not (reading.left_out and alike):
        return priced
    if alike:
        why = f"{objects} objects are of {classes} classes, so they are counted"
        return Choice(solver="portfolio", why=why, solve=solve_portfolio)
    large = refused or f"{pairs} pairs of a class of objects and a container are too many for branch and bound"
    if objects > PART_OBJECTS:
        return Choice(
            solver="partitioned", why=f"{large}; {objects} objects are too many for one search", solve=_in_parts
        )
    return Choice(solver="local", why=large, solve=solve_local)


def solve_auto(problem: Problem, limits: SearchLimits | None = None, *, seed: int = 0) -> Result:
    """What the solver that is chosen answers, which one it was, and why.

    Without limits it takes AUTO_S_MAX seconds at most.
    """
    limits = SearchLimits(time_s_max=AUTO_S_MAX) if limits is None else limits
    if not isinstance(limits, SearchLimits):
        raise BadValues(f"limits = {limits!r}; expected SearchLimits, such as SearchLimits(time_s_max=10)")
    deadline = Deadline.after(limits.time_s_max)
    compiled = Compiled.of(problem)
    choice = choose(compiled)
    notes = [f"auto chose {choice.solver}: {choice.why}"]
    try:
        result = choice.solve(problem, limits, seed=seed, compiled=compiled, deadline=deadline)
    except NotLowerable as refused:
        notes = [f"auto chose local: {refused}"]
        result = solve_local(problem, limits, seed=seed, compiled=compiled, deadline=deadline)
    return replace(result, notes=(*notes, *result.notes))


def _classes(compiled: Compiled) -> tuple[int | None, str]:
    """How many classes the objects are of, or None and why the problem has no integer form."""
    try:
        return len(movement(compiled, wants(compiled)).classes.size), ""
    except ModelError as refused:
        return None, str(refused)


def _reading(compiled: Compiled) -> Reading | None:
    try:
        return read_market(compiled)
    except ModelError:
        return None


def _small_tree(problem: Problem, limits: SearchLimits, *, seed: int, compiled: Compiled, deadline: Deadline) -> Result:
    tree = MipLimits(time_s_max=limits.time_s_max, nodes_max=MIP_NODES)
    return solve_mip(problem, tree, seed=seed, compiled=compiled, deadline=deadline)


def _in_parts(problem: Problem, limits: SearchLimits, *, seed: int, compiled: Compiled, deadline: Deadline) -> Result:
    options = Partitioning(parts=-(-len(problem.objects) // PART_OBJECTS))
    return solve_partitioned(problem, limits, seed=seed, options=options, compiled=compiled, deadline=deadline)
