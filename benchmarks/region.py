"""`./scripts/bench region`: measure one solve of a region folder."""

from __future__ import annotations

import argparse
import math
import resource
import time
from pathlib import Path

from libs.assignment import Limits
from libs.interchange.region.assignment import save_assignment
from libs.interchange.region.read import load_region
from libs.ras.bundle_limits import with_time
from libs.ras.solve import plan_target_bindings


def bench_region(argv: list[str]) -> dict[str, object]:
    """Load, solve and write a region. The gap is by our own bound."""
    parser = argparse.ArgumentParser(prog="bench region")
    parser.add_argument("region", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds, loading included")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    began = time.perf_counter()
    region = load_region(given.region)
    load_s = time.perf_counter() - began
    limits = with_time(Limits(), given.time_limit - load_s)
    result = plan_target_bindings(region.snapshot, limits, seed=given.seed)
    save_assignment(given.out, region.snapshot, result.plan.target)
    found = result.report.as_dict()
    kept = (
        "objective",
        "penalty",
        "total_without_rack",
        "lower_bound",
        "least_penalty",
        "gap",
        "solve_s",
        "step_s",
        "stopped_by",
        "seed",
    )
    return {
        "load_s": load_s,
        "build_s": result.report.step_s["build"],
        "wall_s": time.perf_counter() - began,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **{key: found[key] for key in kept},
    }
