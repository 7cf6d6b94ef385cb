"""`./scripts/bench solve`: run one solver on one problem in a process of its own."""

from __future__ import annotations

import argparse
import math
import resource
import time
from collections.abc import Callable
from typing import Any

from benchmarks.problems import KINDS, load_problem
from benchmarks.rivals import solve_with_cpsat, solve_with_highs
from libs.assignment import Limits, Problem, solve
from libs.assignment.solvers.registry import SOLVERS
from libs.assignment.solvers.result import Outcome
from libs.assignment.warm import warm

RIVALS: dict[str, Callable[..., Outcome]] = {"highs": solve_with_highs, "cpsat": solve_with_cpsat}
"""Plain HiGHS and OR-Tools CP-SAT on the model that lowering makes, without our starts, phases or prices."""
TRIES = {"local", "partitioned", "auto"}
"""Solvers that fill a time limit with tries."""


def bench_solve(argv: list[str]) -> dict[str, object]:
    """Return seconds of wall clock and of processor, peak memory, objective and bound."""
    parser = argparse.ArgumentParser(prog="bench solve")
    parser.add_argument("problem", help=KINDS)
    parser.add_argument("--solver", choices=[*SOLVERS, *RIVALS], default="auto")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds of the solver")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    warm()
    began = time.perf_counter()
    problem = load_problem(given.problem)
    stated, cpu = time.perf_counter(), _cpu_s()
    by_clock = given.solver in TRIES and math.isfinite(given.time_limit)
    limits = Limits(tries_max=math.inf if by_clock else None, time_s_max=given.time_limit)
    if given.solver in RIVALS:
        result = RIVALS[given.solver](problem, limits, seed=given.seed)
    else:
        result = solve(problem, limits, solver=given.solver, seed=given.seed)
    wall_s = time.perf_counter() - stated
    return {
        "problem": given.problem,
        "solver": given.solver,
        "state_s": stated - began,
        "limit_s": given.time_limit if math.isfinite(given.time_limit) else None,
        "wall_s": wall_s,
        "kept": wall_s <= given.time_limit * (1 + LATE) + LATE_S,
        "cpu_s": _cpu_s() - cpu,
        "peak_mib": max(resource.getrusage(who).ru_maxrss for who in WHO) / 1024,
        **numbers_of(problem, result),
    }


LATE, LATE_S = 0.1, 2.0
"""Allowed overrun of a time limit, as a share and in additional seconds."""
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu_s() -> float:
    """Return the processor seconds of this process and of children that it has waited for."""
    return sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime for who in WHO)


def numbers_of(problem: Problem, result: Outcome) -> dict[str, Any]:
    """Return the numbers of a run; `bound` if the solver has one for a single priority and nothing is broken."""
    single = len(result.bound) == 2 and math.isfinite(result.bound[1])
    return {
        "objects": len(problem.objects),
        "containers": len(problem.containers),
        "build_s": result.build_s,
        "solve_s": result.solve_s,
        "objective_at_start": sum(result.objective[0]),
        "objective": sum(result.objective[1]),
        "broken": result.broken[1],
        "bound": result.bound[1] if single else None,
        "moved": result.moved,
        "said": result.in_words(),
        "seed": result.seed,
    }
