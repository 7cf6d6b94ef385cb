"""`./scripts/bench placement`: place tasks on servers, stated in specs and solved by price-and-round or local
search.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from pathlib import Path

import numpy as np

from benchmarks.placement_model import placement_problem
from libs.assignment import Limits, solve
from libs.assignment.warm import warm
from libs.interchange.placement.read import load_placement, save_placement

SOLVERS = ("price", "local", "auto")


def bench_placement(argv: list[str]) -> dict[str, object]:
    """Load, solve and write one instance; `gap` is by the solver's own bound.

    The first compiled function of a process takes half a second. That is `kernels_s`, and `solve_s` excludes it.
    """
    parser = argparse.ArgumentParser(prog="bench placement")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--solver", choices=[*SOLVERS], default="auto")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds of the solver")
    parser.add_argument("--balance", type=float, metavar="WEIGHT", help="a balance goal besides, e.g. 1e-6")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    began, cpu = time.perf_counter(), time.process_time()
    warm()
    warmed = time.perf_counter()
    folder = load_placement(given.folder)
    loaded = time.perf_counter()
    problem = placement_problem(folder, balance_weight=given.balance)
    stated, stated_cpu = time.perf_counter(), time.process_time()
    by_clock = given.solver == "local" and math.isfinite(given.time_limit)
    limits = Limits(tries_max=math.inf if by_clock else None, time_s_max=given.time_limit)
    result = solve(problem, limits, solver=given.solver, seed=given.seed)
    solved_cpu = time.process_time()
    servers = len(folder.server_name)
    save_placement(given.out, folder, np.where(result.assignment < servers, result.assignment, -1))
    value, bound = -result.objective[1][0], -result.bound[1] if result.bound else None
    return {
        "kernels_s": warmed - began,
        "load_s": loaded - warmed,
        "state_s": stated - loaded,
        "build_s": result.build_s,
        "solve_s": result.solve_s,
        "solve_cpu_s": solved_cpu - stated_cpu,
        "wall_s": time.perf_counter() - began,
        "wall_cpu_s": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "objective": value,
        "bound": bound,
        "gap": None if bound is None else 1.0 - value / bound,
        "broken": result.broken[1],
        "placed": int((result.assignment < servers).sum()),
        "solver": result.solver,
        "stopped_by": result.stopped_by,
        "seed": given.seed,
    }
