"""`soak promise`: its arguments and its output."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path


def soak_promise(arguments: list[str]) -> int:
    """Run simulated days, and print the least share of its promise that a reservation held, as JSON."""
    parser = argparse.ArgumentParser(prog="soak promise", description=soak_promise.__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=float, default=30.0, help="simulated days")
    parser.add_argument("--servers", type=int, default=5000)
    parser.add_argument("--requests", type=float, default=40.0, help="new reservations a day")
    parser.add_argument("--lifetimes", type=float, default=1.0, help="of reservations, as a factor on the trace's")
    parser.add_argument("--solve-every", type=float, default=3600.0, metavar="S", help="simulated seconds")
    parser.add_argument(
        "--solve-limit", type=float, default=60.0, metavar="S", help="real seconds that a solve may take"
    )
    parser.add_argument(
        "--tick-every", type=float, default=30.0, metavar="S", help="least simulated seconds, the mover's"
    )
    parser.add_argument("--kills", type=float, default=0.0005, help="chance that a worker dies at a crash point")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the figures so far to it, again and again")
    parser.add_argument("--real-hours", type=float, default=math.inf, metavar="H", help="end after so many hours")
    asked = parser.parse_args(arguments)
    from libs.observability.logs import configure_logging
    from soak.promise.month import Month, Plan
    from soak.promise.verdict import faults_of

    configure_logging("soak", level="ERROR")
    plan = Plan(
        seed=asked.seed,
        days=asked.days,
        servers=asked.servers,
        requests_per_day=asked.requests,
        lifetimes=asked.lifetimes,
        solve_every_s=asked.solve_every,
        solve_limit_s=asked.solve_limit,
        kills=asked.kills,
        ticks_s=(asked.tick_every, max(300.0, asked.tick_every)),
    )
    with tempfile.TemporaryDirectory(prefix="plimsoll-promise-") as home:
        figures = Month(plan, Path(home), report=asked.report, real_s=asked.real_hours * 3600).run()
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")
    faults = faults_of(figures)
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0
