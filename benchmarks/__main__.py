"""Run the benchmark that the first argument names, and print one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from benchmarks.broker import bench_broker
from benchmarks.deltas import bench_deltas
from benchmarks.flux import bench_flux, bench_traces
from benchmarks.imports import bench_imports
from benchmarks.mover import bench_mover
from benchmarks.region import bench_region
from benchmarks.replacements import bench_replacements
from benchmarks.roadef import bench_roadef

BENCHES: dict[str, Callable[[list[str]], dict[str, object]]] = {
    "region": bench_region,
    "broker": bench_broker,
    "replacements": bench_replacements,
    "imports": bench_imports,
    "mover": bench_mover,
    "flux": bench_flux,
    "traces": bench_traces,
    "roadef": bench_roadef,
    "deltas": bench_deltas,
}
"""By name; a new benchmark is one file and one entry."""


def main() -> None:
    """Usage: bench NAME ARGUMENT ..."""
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        sys.exit(f"usage: bench {{{','.join(BENCHES)}}} ...")
    sys.stdout.write(json.dumps(BENCHES[sys.argv[1]](sys.argv[2:])) + "\n")


if __name__ == "__main__":
    main()
