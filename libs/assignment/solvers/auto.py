"""Choose a solver by the size and structure of the problem, and note the choice with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import ModelError, NotLowerable
from libs.assignment.language.problem import Problem
from libs.assignment.model.directions import wants
from libs.assignment.model.movement import movement
from libs.assignment.solvers.caller import Cancelled, Listener
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.known_limits import BEGIN_AT_START, KNOWN, settings_of
from libs.assignment.solvers.limits import AUTO_S_MAX, Limits
from libs.assignment.solvers.local.solver import solve_local
from libs.assignment.solvers.mip import solve_mip
from libs.assignment.solvers.partitioned.solver import solve_partitioned
from libs.assignment.solvers.portfolio.solver import ALIKE, solve_portfolio
from libs.assignment.solvers.price.recognise import Reading, read_market
from libs.assignment.solvers.price.solver import solve_price
from libs.assignment.solvers.result import Outcome

MIP_PAIRS = 3_000
"""Most pairs of a class of objects and a container for branch and bound."""
MIP_NODES = 2_000
"""Most nodes of the branch-and-bound tree of each priority. With this limit the answer does not depend on the clock."""
PART_OBJECTS = 250_000
"""Most objects for one local search. A larger problem is cut into parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A chosen solver.

    solver    the name of the solver
    why       the reason for the choice, in words
    solve     the function that solves
    defaults  values of fields of Limits that apply if the caller has not set the fields
    """

    solver: str
    why: str
    solve: Callable[..., Outcome]
    defaults: Mapping[str, Any] = field(default_factory=dict)


def choose(compiled: Compiled) -> Choice:
    """Choose a solver by size if the problem is small, else by structure: mip, price, portfolio, partitioned, local."""
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
        return Choice(solver="mip", why=why, solve=solve_mip, defaults={"nodes_max": MIP_NODES})
    alike = classes is not None and classes * ALIKE <= objects
    if reading is not None and not (reading.left_out and alike):
        return priced
    if alike:
        why = f"{objects} objects are of {classes} classes, so they are counted"
        return Choice(solver="portfolio", why=why, solve=solve_portfolio)
    large = refused or f"{pairs} pairs of a class of objects and a container are too many for branch and bound"
    if objects > PART_OBJECTS:
        return Choice(
            solver="partitioned",
            why=f"{large}; {objects} objects are too many for one search",
            solve=solve_partitioned,
            defaults={"parts": -(-objects // PART_OBJECTS)},
        )
    return Choice(solver="local", why=large, solve=solve_local)


def solve_auto(
    problem: Problem,
    limits: Limits | None = None,
    *,
    seed: int = 0,
    start: Ints | None = None,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
) -> Outcome:
    """Choose a solver, solve, and note the choice with its reason.

    limits    the chosen solver gets the limits that it knows; a note names all other limits that are set
    start     (N,) an assignment to begin from; solvers that cannot begin from it ignore it
    compiled  the compiled problem, if the caller has it already
    deadline  the clock of an enclosing solve; it replaces time_s_max. The default of time_s_max is AUTO_S_MAX
    """
    limits = limits or Limits()
    if limits.time_s_max is None:
        limits = replace(limits, time_s_max=AUTO_S_MAX)
    deadline = deadline or Deadline.after(limits.time_s_max or AUTO_S_MAX)
    compiled = compiled or Compiled.of(problem)
    choice = choose(compiled)
    same: dict[str, Any] = {"seed": seed, "compiled": compiled, "deadline": deadline}
    same |= {"progress": progress, "cancelled": cancelled}

    def run(choice: Choice) -> Outcome:
        more = {"start": start} if choice.solver in BEGIN_AT_START else {}
        given = replace(limits, **{**choice.defaults, **limits.given()})
        found = choice.solve(problem, **settings_of(choice.solver, given), **same, **more)
        notes = (f"auto chose {choice.solver}: {choice.why}", *_unused(choice.solver, limits), *found.notes)
        return replace(found, notes=notes)

    try:
        return run(choice)
    except NotLowerable as refused:
        return run(Choice(solver="local", why=str(refused), solve=solve_local))


def _unused(solver: str, limits: Limits) -> tuple[str, ...]:
    """Return a note with the limits that are set and that the solver `solver` does not know; () without such limits."""
    names = [name for name in limits.given() if name not in KNOWN[solver]]
    return (f"{solver} does not use {', '.join(names)}",) if names else ()


def _classes(compiled: Compiled) -> tuple[int | None, str]:
    """Return the number of classes of equivalent objects, and an empty text.

    If the problem has no form as a mixed-integer program, return None and the reason.
    """
    try:
        return len(movement(compiled, wants(compiled)).classes.size), ""
    except ModelError as refused:
        return None, str(refused)


def _reading(compiled: Compiled) -> Reading | None:
    try:
        return read_market(compiled)
    except ModelError:
        return None
