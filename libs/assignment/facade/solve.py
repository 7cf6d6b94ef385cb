"""Call any solver through one function."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

from libs.assignment.facade.objective import Objective, objective_of, summed
from libs.assignment.facade.starts import better_of
from libs.assignment.graph.compiled import Compiled
from libs.assignment.language.arrays import Ints
from libs.assignment.language.errors import BadValues
from libs.assignment.language.given import indices_of
from libs.assignment.language.problem import Column, Problem
from libs.assignment.report.result import Result
from libs.assignment.solvers.caller import Cancelled, Listener
from libs.assignment.solvers.deadline import Deadline
from libs.assignment.solvers.known_limits import BEGIN_AT_START, refuse_unknown, settings_of
from libs.assignment.solvers.limits import AUTO_S_MAX, Limits
from libs.assignment.solvers.registry import solver_named
from libs.assignment.solvers.result import Outcome
from libs.assignment.solvers.settings import SearchLimits

LEAST_S = 1e-3
"""Least seconds for a solver of parts."""


def solve(
    problem: Problem,
    limits: Limits | None = None,
    *,
    solver: str = "auto",
    objective: Objective | str = Objective.PRIORITIES,
    start: Column | None = None,
    seed: int = 0,
    progress: Listener | None = None,
    cancelled: Cancelled | None = None,
    **options: Any,
) -> Result:
    """Solve a problem. The answer is never worse than the initial assignment, at any priority.

    limits     limits of time and work; a field that the solver does not know is refused
    solver     auto, local, mip, partitioned, portfolio or price (docs/assignment/auto.md)
    objective  "priorities": one after the other; "sum": added up. Broken constraints come first in both
    start      (N,) an assignment to begin from, by name or index: any kind of column, or a mapping. If the solver
               cannot begin there, its answer is compared with the start, and the better of both is returned
    seed       the same problem, seed and limits of work give the same answer, unless a limit of time was hit
    progress   called with a Progress at each step that the solver records
    cancelled  called between rounds, phases and parts; once it returns True, the best answer so far is returned
    options    objects for one solver: `proposer` (local); `settings`, `prices` (price); `pool` (portfolio);
               `part_solver` (a name, or a callable that takes problem, limits, seed= and the given ones of progress=
               and cancelled=), `executor` (partitioned)

    Raises: UnknownName, with the nearest name, for an unknown solver, objective, option or name; BadValues for
    impossible limits, start, seed or options; Contradiction if hard constraints exclude each other; NotLowerable and
    other ModelErrors if the named solver cannot express the problem.
    """
    run, limits, objective = solver_named(solver), _checked(limits), objective_of(objective)
    refuse_unknown(solver, limits, options)
    _check_call(seed, progress=progress, cancelled=cancelled)
    default_s = AUTO_S_MAX if solver == "auto" else float("inf")
    deadline = Deadline.after(default_s if limits.time_s_max is None else limits.time_s_max)
    stated = summed(problem) if objective is Objective.SUM else problem
    begin = None if start is None else indices_of("start", start, problem.objects, problem.containers)
    compiled = Compiled.of(stated)
    given: dict[str, Any] = {"limits": limits} if solver == "auto" else settings_of(solver, limits)
    if begin is not None and solver in ("auto", *BEGIN_AT_START):
        given["start"] = begin
    outcome = run(
        stated,
        **given,
        **_options(options),
        seed=int(seed),
        progress=progress,
        cancelled=cancelled,
        compiled=compiled,
        deadline=deadline,
    )
    return Result.of(_with_start(outcome, compiled, begin), stated)


def _checked(limits: Limits | None) -> Limits:
    if limits is not None and not isinstance(limits, Limits):
        raise BadValues(f"solve: limits = {limits!r}; expected Limits, such as Limits(time_s_max=10)")
    return limits or Limits()


def _check_call(seed: Any, **functions: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        raise BadValues(f"solve: seed = {seed!r}; expected a whole number, 0 or more")
    for name, given in functions.items():
        if given is not None and not callable(given):
            raise BadValues(f"solve: {name} = {given!r}; expected a function")


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by the names that solvers use."""
    given = dict(options)
    if "part_solver" in given:
        named = given.pop("part_solver")
        if not isinstance(named, str) and not callable(named):
            raise BadValues(f"solve: part_solver = {named!r}; expected the name of a solver, or a function")
        given["solver"] = solver_named(named) if isinstance(named, str) else partial(_part_by, named)
    return given


def _part_by(
    solver: Callable[..., Outcome],
    problem: Problem,
    limits: SearchLimits,
    *,
    compiled: Compiled | None = None,
    deadline: Deadline | None = None,
    **same: Any,
) -> Outcome:
    """Call the caller's own solver of parts like `solve`. Processes can import this function."""
    time_s = limits.time_s_max if deadline is None else max(deadline.left_s, LEAST_S)
    tries = math.inf if limits.tries_max is None else limits.tries_max
    return solver(problem, Limits(time_s_max=time_s, tries_max=tries, threads=limits.threads), **same)


def _with_start(outcome: Outcome, compiled: Compiled, begin: Ints | None) -> Outcome:
    if begin is None or outcome.solver in BEGIN_AT_START:
        return outcome
    return better_of(outcome, compiled, begin)
