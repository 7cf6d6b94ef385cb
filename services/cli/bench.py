"""What `scripts/bench` runs: one measured solve, printed as one JSON object."""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from libs.interchange.assignment import save_assignment
from libs.interchange.region import load_region
from libs.ras.limits import SolveLimits
from libs.ras.phases import plan_target_bindings
from services.cli.bench_broker import bench_broker

Measure = Callable[[list[str]], dict[str, object]]


def bench_region(argv: list[str]) -> dict[str, object]:
    """Load, solve and write a region; gap is by our own bound."""
    parser = argparse.ArgumentParser(prog="bench region")
    parser.add_argument("region", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds, loading included")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    began = time.perf_counter()
    region = load_region(given.region)
    load_s = time.perf_counter() - began
    limits = SolveLimits(time_s_max=max(given.time_limit - load_s, 0.0))
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


BENCHES: dict[str, Measure] = {"region": bench_region, "broker": bench_broker}
"""By name; a new benchmark is one function and one entry."""


def main() -> None:
    """Run the benchmark that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        sys.exit(f"usage: bench {{{','.join(BENCHES)}}} ...")
    sys.stdout.write(json.dumps(BENCHES[sys.argv[1]](sys.argv[2:])) + "\n")


if __name__ == "__main__":
    main()
