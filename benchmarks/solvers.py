"""`./scripts/bench solvers`: run every solver on every problem, each in a process of its own; print lines and a
table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.problems import KINDS

Run = dict[str, Any]
PATIENCE, PATIENCE_S = 3.0, 60.0
"""Time for a run that misses its limit, loading included: a multiple of the limit, plus seconds."""
REFUSED = "libs.assignment.language.errors.ModelError: "
"""Beginning of a solver's refusal."""


def bench_solvers(argv: list[str]) -> dict[str, object]:
    """Return a line per run, even if the run failed or the solver refused. A gap is the distance to the best bound that
    any solver has for the problem.
    """
    parser = argparse.ArgumentParser(prog="bench solvers")
    parser.add_argument("problems", nargs="+", help=KINDS)
    parser.add_argument("--solvers", default="auto,local,mip,partitioned,highs", help="names, with commas between")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="one JSON object a line")
    parser.add_argument("--table", type=Path, help="the same as Markdown")
    given = parser.parse_args(argv)
    runs: list[Run] = []
    for problem in given.problems:
        for solver in given.solvers.split(","):
            runs.append(_run(problem, solver, given.time_limit, given.seed))
            for run in runs:
                _judge(run, [one for one in runs if one["problem"] == run["problem"]])
            if given.out:  # write all again after each run, because gaps change with a better bound
                given.out.write_text("".join(json.dumps(run) + "\n" for run in runs))
            if given.table:
                given.table.write_text(table_of(runs))
    return {"runs": runs}


def _run(problem: str, solver: str, time_limit: float, seed: int) -> Run:
    command = [sys.executable, "-m", "benchmarks", "solve", problem, "--solver", solver]
    command += ["--time-limit", str(time_limit), "--seed", str(seed)]
    patience_s = PATIENCE * time_limit + PATIENCE_S
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience_s)
    except subprocess.TimeoutExpired:
        return {"problem": problem, "solver": solver, "failed": f"no answer within {patience_s:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"problem": problem, "solver": solver, "failed": last[0].removeprefix(REFUSED)}
    found: Run = json.loads(done.stdout)
    return found


def _judge(run: Run, alike: list[Run]) -> None:
    """Set `gap` to the best bound, and `over_best` to the best answer of this table, both as shares of the
    objective.
    """
    good = [one for one in alike if "failed" not in one and one["broken"] <= 1e-6]
    if run not in good:
        return
    bounds = [one["bound"] for one in good if one["bound"] is not None]
    best = min(one["objective"] for one in good)
    size = max(abs(best), 1e-9)
    run["gap"] = (run["objective"] - max(bounds)) / size if bounds else None
    run["over_best"] = (run["objective"] - best) / size


def table_of(runs: list[Run]) -> str:
    """Return a table with one row per run."""
    lines = [
        "| problem | solver | limit s | wall s | kept | CPU s | peak MiB | objective | gap to bound | over best |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        name = _short(run["problem"])
        if "failed" in run:
            lines.append(f"| {name} | {run['solver']} | {run['failed']} | | | | | | | |")
            continue
        gap, over = (_percent(run.get(key)) if run["moved"] else "" for key in ("gap", "over_best"))
        objective = f"{run['objective']:.6g}" if run["moved"] else "nothing better than the start"
        lines.append(
            f"| {name} | {run['solver']} | {_seconds(run['limit_s'])} | {run['wall_s']:.1f} "
            f"| {'yes' if run['kept'] else 'no'} | {run['cpu_s']:.1f} | {run['peak_mib']:.0f} "
            f"| {objective} | {gap} | {over} |"
        )
    return "\n".join(lines) + "\n"


def _seconds(limit: float | None) -> str:
    return "none" if limit is None else f"{limit:g}"


def _short(problem: str) -> str:
    return Path(problem.split(":")[1]).stem


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.2%}"
