"""`./scripts/bench weights`: solve a region with each weight raised and lowered, and show what each one does."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from libs.assignment import Limits
from libs.domain.arrays import Floats, Indices
from libs.domain.fleet import FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.interchange.region.read import load_region
from libs.pictures.lines import LineChart, charts_svg
from libs.ras.evaluate import above_rack_limit, above_share, coverage_of, evaluate, surplus_servers
from libs.ras.solve import plan_target_bindings

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WEIGHTS = (
    "move_cost_idle",
    "move_cost_in_use",
    "spread_cost",
    "buffer_cost",
    "surplus_cost",
    "shortfall_cost",
    "affinity_cost",
    "affinity_tolerance",
    "rack_phase_share",
)
"""The fields of the policy that are raised and lowered. The rest are budgets and switches."""
SHOWN: Mapping[str, str] = {
    "buffers": "embedded_rru",
    "MSB spread": "above_msb_limits_rru",
    "rack spread": "above_rack_limits_rru",
    "moves in use": "moved_in_use",
    "idle moves": "moved_idle",
    "surplus": "surplus_servers",
    "off shares": "off_affinity_rru",
}
"""Lines of the picture: name -> figure. A shortfall is in the figures alone: its default is 0 where all are served."""
RELATIVE_MOST = 4.0
"""Largest value that the picture shows, as a multiple of the value at the default."""


def bench_weights(argv: list[str]) -> dict[str, object]:
    """Solve with every weight at 1/4, 1/2, 2 and 4 times its default, the others at theirs, and once with all at it."""
    parser = argparse.ArgumentParser(prog="bench weights")
    parser.add_argument("region", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for weights.json and weights.svg")
    parser.add_argument("--weights", default=",".join(WEIGHTS), help="names of fields of the policy")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    names = given.weights.split(",")
    unknown = set(names) - {field.name for field in fields(RegionPolicy)}
    if unknown:
        parser.error(f"--weights names {sorted(unknown)[0]}, which is no field of the policy; take some of {WEIGHTS}")
    snapshot = replace(load_region(given.region).snapshot, policy=RegionPolicy(shared_buffer_share=0.0))
    usual = _solved(snapshot, given.seed)
    found: dict[str, list[dict[str, float]]] = {}
    for name in names:
        default = float(getattr(snapshot.policy, name))
        found[name] = []
        for factor in FACTORS:
            other = replace(snapshot, policy=_with(snapshot.policy, name, default * factor))
            figures = usual if factor == 1 else _solved(other, given.seed)
            found[name].append({"factor": factor, "value": default * factor, **figures})
            sys.stderr.write(f"{name} x {factor:g}: {json.dumps(figures)}\n")
    servers, reservations = len(snapshot.servers), len(snapshot.reservations)
    told: dict[str, object] = {
        "servers": servers,
        "reservations": reservations,
        "seed": given.seed,
        "weights": found,
    }
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "weights.json").write_text(json.dumps(told, indent=1) + "\n")
    (given.out / "weights.svg").write_text(picture_of(found, f"{servers:,} servers, {reservations} reservations"))
    return told


def figures_of(snapshot: FleetSnapshot, target: Indices) -> dict[str, float]:
    """Return what the plan holds and moves, without prices."""
    q, covered, score = snapshot.reservations, coverage_of(snapshot, target), evaluate(snapshot, target)
    above = above_share(covered.by_msb, q.msb_spread_limit[:, None], q.capacity_rru[:, None])
    found = {
        "embedded_rru": covered.buffer.sum(),
        "above_msb_limits_rru": above.sum(),
        "above_rack_limits_rru": above_rack_limit(snapshot, target).sum(),
        "moved_in_use": score.moved_in_use,
        "moved_idle": score.moved_idle,
        "acquired": score.acquired,
        "surplus_servers": surplus_servers(snapshot, target).sum(),
        "off_affinity_rru": covered.off_affinity.sum(),
        "shortfall_rru": score.shortfall_rru,
    }
    return {name: round(float(value), 2) for name, value in found.items()}


def picture_of(found: Mapping[str, Sequence[Mapping[str, float]]], title: str) -> str:
    """Return a chart for each weight: each figure as a multiple of its value at the default."""
    charts = [
        LineChart(
            title=f"{name} (default {_at_default(rows):g})",
            cycles=[f"x {row['factor']:g}" for row in rows],
            series=list(SHOWN),
            values=_relative(rows),
            width=520.0,
            height=180.0,
        )
        for name, rows in found.items()
    ]
    return charts_svg(f"Figures of a plan as multiples of those at the defaults: {title}", charts, columns=2)


def _with(policy: RegionPolicy, name: str, value: float) -> RegionPolicy:
    changed: dict[str, Any] = {name: value}
    return replace(policy, **changed)


def _solved(snapshot: FleetSnapshot, seed: int) -> dict[str, float]:
    began_s = time.process_time()
    result = plan_target_bindings(snapshot, Limits(), seed=seed)
    gap = {} if math.isnan(result.report.gap) else {"gap": round(result.report.gap, 5)}
    taken = {"processor_s": round(time.process_time() - began_s, 1)}
    return figures_of(snapshot, result.plan.target) | gap | taken


def _at_default(rows: Sequence[Mapping[str, float]]) -> float:
    return next(row["value"] for row in rows if row["factor"] == 1)


def _relative(rows: Sequence[Mapping[str, float]]) -> Floats:
    """Return the (L, C) multiples; nan where the value at the default is 0, or where the picture would end."""
    usual = next(row for row in rows if row["factor"] == 1)
    values = np.array([[row[name] for row in rows] for name in SHOWN.values()])
    base = np.array([usual[name] for name in SHOWN.values()])[:, None]
    multiples = np.divide(values, base, out=np.full(values.shape, np.nan), where=base > 0)
    return np.where(multiples <= RELATIVE_MOST, multiples, np.nan)
