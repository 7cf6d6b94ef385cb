"""`./scripts/bench resolve`: solve a region, change a share of it, and solve it again."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from libs.assignment import Limits
from libs.domain.arrays import Indices
from libs.domain.fleet import FleetSnapshot
from libs.interchange.region.read import load_region
from libs.ras.solve import plan_target_bindings
from libs.ras.solve_result import SolveResult

USED = 0.9
"""Share of moved servers that are in use when the next solve begins."""


def bench_resolve(argv: list[str]) -> dict[str, object]:
    """Solve a region; then carry out the plan, change a share of servers and reservations, and solve again."""
    parser = argparse.ArgumentParser(prog="bench resolve")
    parser.add_argument("region", type=Path)
    parser.add_argument("--share", type=float, default=0.01, help="of servers and of reservations that change")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    given = parser.parse_args(argv)
    snapshot = load_region(given.region).snapshot
    first, first_s = _timed(snapshot)
    changed = after_change(snapshot, first.plan.target, given.share, np.random.default_rng(given.seed))
    again, again_s = _timed(changed)
    return {
        "first": _figures(first, first_s),
        "again": _figures(again, again_s),
        "share_of_first": again_s / first_s,
    }


def after_change(snapshot: FleetSnapshot, target: Indices, share: float, rng: np.random.Generator) -> FleetSnapshot:
    """Return the region with the bindings `target` (S,), after a share of it changed.

    So many servers fail, or come back. So many reservations, at least one, want 15 % less to 10 % more.
    """
    servers, q = snapshot.servers, snapshot.reservations
    moved = target != servers.target
    in_use = np.where(moved, rng.random(len(moved)) < USED, servers.in_use) & (target >= 0)
    available = servers.available.copy()
    failed = rng.choice(len(moved), round(share * len(moved)), replace=False)
    available[failed] = ~available[failed]
    wanted = q.capacity_rru.copy()
    resized = rng.choice(len(q), max(1, round(share * len(q))), replace=False)
    wanted[resized] *= rng.uniform(0.85, 1.1, len(resized))
    return replace(
        snapshot,
        servers=replace(servers, current=target, target=target, in_use=in_use, available=available),
        reservations=replace(q, capacity_rru=wanted),
    )


def _timed(snapshot: FleetSnapshot) -> tuple[SolveResult, float]:
    began = time.perf_counter()
    result = plan_target_bindings(snapshot, Limits())
    return result, time.perf_counter() - began


def _figures(result: SolveResult, solve_s: float) -> dict[str, float]:
    report = result.report
    return {
        "solve_s": round(solve_s, 2),
        "gap": round(report.gap, 5),
        "total_without_rack": report.score.total_without_rack,
        "lower_bound": report.lower_bound,
        "shortfall_rru": report.score.shortfall_rru,
        "moved": report.score.moved_in_use + report.score.moved_idle,
    }
