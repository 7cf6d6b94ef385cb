"""`soak mutants`: plant one defect after the other in the platform, and check that the soak finds each."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from soak.history import History
from soak.judge import AT_ANY_TIME, judge
from soak.mutants.plant import MUTANTS

FOUND_S_MAX = 120.0
"""Seconds after the first fault within which a mutant must be found."""
_WORK_S, _SETTLE_S = 70.0, 15.0
"""Seconds of work and of settling. They are too short to come to rest, so the rule about that does not count."""
_FAULT_EVERY_S = 4.0
_FAULTS = ("pause_pool", "end_connections", "no_receiver")
_MORE = {"forgotten_lease": ("kill_pool",), "repeated_order": ("no_systems",)}
"""Faults that reveal mutants. None stops the platform, because a restart would take too much of the two minutes.

`_MORE` has additional faults for a mutant that needs them.
"""
_LOOK_EVERY_S, _LOOKS_SHARE = 5.0, 0.1
"""Seconds between two checks, and their largest share of the time. A check reads the whole history."""
_SITE = Path(__file__).parent / "mutants" / "site"


def soak_mutants(arguments: list[str]) -> int:
    """Run each mutant, and print the rules that found it and the time. 0: all are found in time; 1: one is not."""
    parser = argparse.ArgumentParser(prog="soak mutants", description=soak_mutants.__doc__)
    parser.add_argument("names", nargs="*", metavar="MUTANT", help=f"one of {', '.join(MUTANTS)}; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder to keep the histories in")
    asked = parser.parse_args(arguments)
    unknown = set(asked.names) - set(MUTANTS)
    if unknown:
        parser.error(f"there is no mutant {', '.join(sorted(unknown))}; choose from {', '.join(MUTANTS)}")
    missed = 0
    for name in asked.names or MUTANTS:
        folder = Path(tempfile.mkdtemp(prefix=f"plimsoll-soak-{name}-"))
        rules, after_s = _hunt(name, asked.seed, folder)
        found = bool(rules) and after_s <= FOUND_S_MAX
        said = f"{after_s:5.1f} s  {', '.join(rules)}" if rules else f"not found in {after_s:.1f} s"
        sys.stdout.write(f"{name:<16} {said}{'' if found or not rules else '  (too late)'}\n")
        sys.stdout.flush()
        missed += not found
        if asked.keep is not None:
            asked.keep.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / "history.jsonl", asked.keep / f"{name}.jsonl")
        shutil.rmtree(folder)
    return 1 if missed else 0


def _hunt(name: str, seed: int, folder: Path) -> tuple[list[str], float]:
    """Return the rules that a run with this mutant breaks, and the real seconds from the first fault until then."""
    from soak.faults_run import Plan, run_faults

    history = folder / "history.jsonl"
    (folder / "state").mkdir()
    path = os.pathsep.join([str(_SITE), os.environ.get("PYTHONPATH", str(Path(__file__).parents[1]))])
    plan = Plan(
        seed=seed,
        duration_s=_WORK_S,
        servers=90,
        clients=6,
        fault_every_s=_FAULT_EVERY_S,
        speed=60.0,
        settle_s=_SETTLE_S,
        only=(*_FAULTS, *_MORE.get(name, ())),
        more={"SOAK_MUTANT": name, "PYTHONPATH": path},
    )
    began_s: list[float] = []
    run_faults(plan, folder, folder / "state", history, None, _looker(history, began_s))
    after_s, told = time.monotonic() - began_s[0], History.read(history)
    rules = dict.fromkeys(violation.rule for violation in judge(told))
    rules.pop("comes_to_rest", None)
    if not told.final:
        rules.pop("done_is_kept", None)  # the run was ended early because a rule was broken
    return list(rules), after_s


def _looker(history: Path, began_s: list[float]) -> Callable[[], bool]:
    """Return a function that judges the history so far now and then, and returns True if a rule is broken."""

    def look() -> bool:
        now_s = time.monotonic()
        if not began_s:
            began_s.append(now_s)
            next_s.append(now_s + _LOOK_EVERY_S)
        if now_s < next_s[-1]:
            return False
        found = bool(judge(History.read(history), AT_ANY_TIME))
        took_s = time.monotonic() - now_s
        next_s.append(now_s + max(_LOOK_EVERY_S, took_s / _LOOKS_SHARE))
        return found

    next_s: list[float] = []
    return look
