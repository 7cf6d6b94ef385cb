"""`soak faults` and `soak judge`: their arguments and their output.

Exit status: 0 if nothing was found, 1 if a rule is broken, 2 if the run failed or too little happened in it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from soak.disk import NoSmallDisk, SmallDisk
from soak.floor import below_floor, what_happened
from soak.history import History
from soak.judge import Violation, judge

_DISK_BYTES = 4 << 30
"""Size of the small disk: more than PostgreSQL's log and all else may take.

A tmpfs uses memory only for its content.
"""


def soak_faults(arguments: list[str]) -> int:
    """Run the platform under faults, judge the history, and print the findings."""
    parser = argparse.ArgumentParser(prog="soak faults", description=soak_faults.__doc__)
    parser.add_argument("--seed", type=int, default=1, help="seed of the work and of the faults")
    parser.add_argument("--duration", type=float, default=120.0, metavar="S", help="real seconds of work under faults")
    parser.add_argument("--region-servers", type=int, default=120, metavar="N", help="servers of the made-up region")
    parser.add_argument("--clients", type=int, default=4, metavar="N", help="clients that work at the same time")
    parser.add_argument(
        "--fault-every", type=float, default=4.0, metavar="S", help="seconds between faults, on average"
    )
    parser.add_argument("--speed", type=float, default=60.0, help="speed of the platform's clock")
    parser.add_argument(
        "--settle", type=float, default=300.0, metavar="S", help="seconds in which it must become quiet"
    )
    parser.add_argument("--history", type=Path, help="file to record in; default: a file in the run's folder")
    parser.add_argument("--require-small-disk", action="store_true", help="fail if no small disk is possible here")
    parser.add_argument(
        "--history-days",
        type=int,
        metavar="N",
        help="days of the Clock that moves are kept; default: all",
    )
    parser.add_argument(
        "--fail-over",
        action="store_true",
        help="run two APIs, schedulers, workers and movers; lose the database's primary in the middle, and promote its "
        "standby",
    )
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-soak-"))
    history = asked.history or folder / "history.jsonl"
    state = folder / "state"
    state.mkdir()
    try:  # before numpy is imported: a process with threads cannot make a namespace
        disk = SmallDisk(state, _DISK_BYTES)
    except NoSmallDisk as error:
        if asked.require_small_disk:
            sys.stderr.write(f"soak: no small disk: {error}\n")
            return 2
        sys.stderr.write(f"soak: SKIPPED fill_disk, because no small disk is possible here: {error}\n")
        disk = None
    from soak.faults_run import Plan, run_faults

    plan = Plan(
        seed=asked.seed,
        duration_s=asked.duration,
        servers=asked.region_servers,
        clients=asked.clients,
        fault_every_s=asked.fault_every,
        speed=asked.speed,
        settle_s=asked.settle,
        history_days=asked.history_days,
        fail_over=asked.fail_over,
    )
    run_faults(plan, folder, state, history, disk)
    if disk is not None:
        disk.close()
    found = _say(history)
    if found:
        sys.stdout.write(f"logs         {folder / 'logs'}\n")
    elif asked.history is not None:
        shutil.rmtree(folder)
    return found


def judge_again(arguments: list[str]) -> int:
    """Judge a recorded history."""
    parser = argparse.ArgumentParser(prog="soak judge", description=judge_again.__doc__)
    parser.add_argument("history", type=Path)
    return _say(parser.parse_args(arguments).history)


def _say(path: Path) -> int:
    history = History.read(path)
    violations, missing = judge(history), list(below_floor(history))
    attempts = [attempt for operation in history.operations for attempt in operation.attempts]
    lost = sum(attempt.unknown for attempt in attempts)
    done = sum(operation.done is not None for operation in history.operations)
    failed = Counter(job["kind"] for job in history.final.get("jobs", []) if job["status"] == "failed")
    happened: dict[str, list[str]] = {}
    for name, number in what_happened(history).items():
        group, _, kind = name.partition(" ") if name.startswith(("operations ", "faults ")) else ("of these", "", name)
        happened.setdefault(group, []).append(f"{number} {kind}")
    lines = [
        f"history      {path}",
        f"answers      {len(history.operations)} operations, {done} done; {len(attempts)} attempts, {lost} unanswered",
        *(f"{group:<12} {', '.join(found)}" for group, found in happened.items()),
        f"failed jobs  {', '.join(f'{number} {kind}' for kind, number in failed.items()) or 'none'}",
        f"quiet after  {history.final.get('quiet_s')} s",
        f"violations   {len(violations)}",
        *map(_line, violations[:50]),
        f"below floor  {len(missing)}",
        *(f"  {one}" for one in missing),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if violations else 2 if missing else 0


def _line(violation: Violation) -> str:
    return f"  {violation.rule}: {violation.message}"
