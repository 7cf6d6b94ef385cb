"""`./scripts/bench pop`: measure the loss of quality and the saving of time from cutting a problem into parts."""

from __future__ import annotations

import argparse
import math
import resource
import time
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.problems import KINDS, load_problem
from benchmarks.solve import numbers_of
from libs.assignment import Deal, Limits, Problem, Result, solve
from libs.assignment.solvers.known_limits import known_limits
from libs.assignment.solvers.registry import SOLVERS
from libs.assignment.warm import warm


@dataclass(slots=True)
class Clocked:
    """A solver of parts that records the processor seconds of each part."""

    name: str
    gap: float
    each_s: list[float] = field(default_factory=list)

    def __call__(self, problem: Problem, limits: Limits, *, seed: int) -> Result:
        """Solve with the limits that the solver knows."""
        began = time.process_time()
        given = {name: value for name, value in limits.given().items() if name in known_limits(self.name)}
        if self.name == "mip":
            given["relative_gap"] = self.gap
        result = solve(problem, Limits(**given), solver=self.name, seed=seed)
        self.each_s.append(time.process_time() - began)
        return result


def bench_pop(argv: list[str]) -> dict[str, object]:
    """Run once for each number of parts, in this process and one part after the other.

    `cpu_s` is the total. `critical_s` is the time if every part had a core of its own: all except the parts, plus the
    longest part. Speed-ups are against one part.
    """
    parser = argparse.ArgumentParser(prog="bench pop")
    parser.add_argument("problem", help=KINDS)
    parser.add_argument("--parts", default="1,2,4,8,16,32")
    parser.add_argument("--solver", default="local", choices=sorted(set(SOLVERS) - {"partitioned", "auto"}))
    parser.add_argument("--how", type=Deal, default=Deal.BY_ATTRIBUTE, choices=list(Deal))
    parser.add_argument("--polish", type=float, default=0.0)
    parser.add_argument("--gap", type=float, default=0.005, help="at which branch and bound is content")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds of a run")
    parser.add_argument("--tries", type=int, help="of a run, for solvers that count them")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    warm()
    problem = load_problem(given.problem)
    tries = given.tries or (math.inf if math.isfinite(given.time_limit) else None)
    limits = Limits(tries_max=tries, time_s_max=given.time_limit)
    runs = [_run(problem, parts, given, limits) for parts in map(int, given.parts.split(","))]
    for run in runs:
        run["speed_up"] = runs[0]["cpu_s"] / run["cpu_s"]
        run["speed_up_parallel"] = runs[0]["cpu_s"] / run["critical_s"]
        size = runs[0]["objective_at_start"] - runs[0]["objective"]
        run["gain_kept"] = (run["objective_at_start"] - run["objective"]) / size if size else None
    return {"problem": given.problem, "solver": given.solver, "how": given.how, "runs": runs}


def _run(problem: Problem, parts: int, given: argparse.Namespace, limits: Limits) -> dict[str, Any]:
    clocked, began = Clocked(given.solver, given.gap), time.process_time()
    if parts == 1:
        result = clocked(problem, limits, seed=given.seed)
    else:
        limits = replace(limits, parts=parts, deal=given.how, polish=given.polish, insist=True)
        result = solve(problem, limits, solver="partitioned", seed=given.seed, part_solver=clocked)
    cpu_s = time.process_time() - began
    return {
        "parts": parts,
        "cpu_s": cpu_s,
        "critical_s": cpu_s - sum(clocked.each_s) + max(clocked.each_s),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **numbers_of(problem, result),
    }
