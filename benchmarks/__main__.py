"""Run the benchmark named in the first argument, and print one JSON object."""

from __future__ import annotations

import json
import sys
from importlib import import_module

BENCHES = {
    "region": "benchmarks.region:bench_region",
    "weights": "benchmarks.weights:bench_weights",
    "resolve": "benchmarks.resolve:bench_resolve",
    "broker": "benchmarks.broker:bench_broker",
    "replacements": "benchmarks.replacements:bench_replacements",
    "imports": "benchmarks.imports:bench_imports",
    "pages": "benchmarks.pages:bench_pages",
    "mover": "benchmarks.mover:bench_mover",
    "flux": "benchmarks.flux:bench_flux",
    "traces": "benchmarks.flux:bench_traces",
    "spans": "benchmarks.telemetry:bench_spans",
    "window": "benchmarks.telemetry:bench_window",
    "roadef": "benchmarks.roadef:bench_roadef",
    "roadef-all": "benchmarks.roadef_all:bench_roadef_all",
    "solve": "benchmarks.solve:bench_solve",
    "solvers": "benchmarks.solvers:bench_solvers",
    "pop": "benchmarks.pop:bench_pop",
    "deltas": "benchmarks.deltas:bench_deltas",
    "placement": "benchmarks.placement:bench_placement",
    "ledger": "benchmarks.ledger:bench_ledger",
    "executions": "benchmarks.executions:bench_executions",
    "fuzz": "benchmarks.fuzz.bench:bench_fuzz",
}
"""Benchmarks by name. Each is imported when it runs, so that its peak memory is its own."""


def main() -> None:
    """Usage: bench NAME ARGUMENT ..."""
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        sys.exit(f"usage: bench {{{','.join(BENCHES)}}} ...")
    module, _, name = BENCHES[sys.argv[1]].partition(":")
    found: dict[str, object] = getattr(import_module(module), name)(sys.argv[2:])
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
