"""`soak solves`: its arguments and its output."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_TICK_S = 300.0
"""Simulated seconds between two ticks of the mover. Moves end within the hour, and the processor solves instead."""

_TOLD = ("hour", "reservations", "processor_s", "gap", "moved_in_use", "moved_idle")


def soak_solves(arguments: list[str]) -> int:
    """Run consecutive hourly solves of a simulated region, and write their figures and pictures to a folder."""
    parser = argparse.ArgumentParser(prog="soak solves", description=soak_solves.__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for solves.json and pictures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solves", type=int, default=100)
    parser.add_argument("--servers", type=int, default=2000)
    parser.add_argument("--requests", type=float, default=60.0, help="new reservations a day")
    parser.add_argument("--lifetimes", type=float, default=4.0, help="of reservations, as a factor on the trace's")
    parser.add_argument("--load", type=float, default=0.55, help="share of the region's RRU that is asked for")
    parser.add_argument("--affinity", type=float, default=0.3, help="share of reservations with datacenter shares")
    parser.add_argument("--real-hours", type=float, default=math.inf, metavar="H", help="end after so many hours")
    asked = parser.parse_args(arguments)
    if asked.solves < 1:
        parser.error(f"--solves is {asked.solves}; ask for at least 1")
    from libs.observability.logs import configure_logging
    from soak.promise.month import HOUR_S, Month, Plan
    from soak.promise.platform import Platform
    from soak.solves.goals import with_and_without
    from soak.solves.notes import SolveNotes
    from soak.solves.pictures import pictures_of
    from soak.solves.summary import summary_of

    configure_logging("soak", level="ERROR")
    plan = Plan(
        seed=asked.seed,
        days=(asked.solves + 1) / 24,
        servers=asked.servers,
        requests_per_day=asked.requests,
        lifetimes=asked.lifetimes,
        load=asked.load,
        kills=0.0,
        affinity=asked.affinity,
        quiet_s=0.0,
        retuned=False,
        ticks_s=(_TICK_S, 2 * _TICK_S),
        solve_every_s=HOUR_S,
    )
    notes = SolveNotes()

    def note(platform: Platform) -> None:
        notes.note(platform)
        last = notes.rows[-1] if notes.rows else {}
        shown = ", ".join(f"{name} {last[name]:.4g}" for name in _TOLD if name in last)
        sys.stderr.write(f"{len(notes.rows)} solves, {time.process_time():.0f} processor seconds; last: {shown}\n")

    with tempfile.TemporaryDirectory(prefix="plimsoll-solves-") as home:
        month = Month(plan, Path(home), real_s=asked.real_hours * 3600, each_hour=note)
        lived = month.run()
    rows = notes.rows[: asked.solves]
    if not rows or notes.last is None:
        sys.stderr.write("No solve ended with a plan.\n")
        return 2
    goals = with_and_without(notes.last)
    figures: dict[str, Any] = {
        "plan": lived["plan"],
        "requests": lived["requests"],
        "failures": lived["failures"],
        "ended": dict(notes.ended),
        "summary": summary_of(rows),
        "goals": goals,
    }
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "solves.json").write_text(json.dumps(_known(figures | {"rows": rows}), indent=1) + "\n")
    for name, picture in pictures_of(rows, goals).items():
        (asked.out / name).write_text(picture)
    sys.stdout.write(json.dumps(_known(figures), indent=1) + "\n")
    return 0 if len(rows) == asked.solves else 2


def _known(found: Any) -> Any:
    """Return the same figures with None for nan, which JSON does not have, and six digits of each number."""
    if isinstance(found, dict):
        return {name: _known(one) for name, one in found.items()}
    if isinstance(found, list):
        return [_known(one) for one in found]
    if isinstance(found, float):
        return float(f"{found:.6g}") if math.isfinite(found) else None
    return found
