"""`./scripts/bench roadef`: solve a machine reassignment (ROADEF/EURO challenge 2012) in specs by local search."""

from __future__ import annotations

import argparse
import math
import os
import resource
import time
from pathlib import Path

from benchmarks.deltas import full_deltas_per_s
from benchmarks.roadef_model import load_roadef
from libs.assignment import Limits, solve


def bench_roadef(argv: list[str]) -> dict[str, object]:
    """Load, solve and write one instance. The time limit counts from the start of the program's work, and includes
    loading.
    """
    parser = argparse.ArgumentParser(prog="bench roadef")
    parser.add_argument("model", type=Path)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="one machine number per process")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds, loading included")
    parser.add_argument("--tries", type=int, help="stop after so many changes, whatever the time: reproducible")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="walks side by side")
    given = parser.parse_args(argv)
    began = time.perf_counter()
    problem = load_roadef(given.model, given.assignment)
    load_s = time.perf_counter() - began
    time_s = max(given.time_limit - load_s - MARGIN_S, 0.1)
    tries = math.inf if given.tries is None else given.tries
    limits = Limits(tries_max=tries, time_s_max=time_s, threads=given.threads)
    result = solve(problem, limits, solver="local", seed=given.seed)
    given.out.write_text(" ".join(map(str, result.assignment.tolist())) + "\n")
    return {
        "load_s": load_s,
        "build_s": result.build_s,
        "solve_s": result.solve_s,
        "wall_s": time.perf_counter() - began,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "objective": sum(result.objective[1]),
        "objective_at_start": sum(result.objective[0]),
        "broken": result.broken[1],
        "moved": result.moved,
        "tries": result.tries,
        "tries_per_s": result.tries / (result.solve_s - result.build_s),
        "full_deltas_per_s": full_deltas_per_s(problem),
        "threads": given.threads,
        "stopped_by": result.stopped_by,
        "seed": given.seed,
    }


MARGIN_S = 0.5
"""Seconds left for starting the interpreter and writing the answer."""
