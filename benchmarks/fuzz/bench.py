"""`./scripts/bench fuzz`: draw, solve by every solver, judge, and print the smallest script of each kind of finding."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from benchmarks.fuzz.case import Case
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.judge import Finding, Judged, crash, judge
from benchmarks.fuzz.runs import ODD, PLAIN, Run
from benchmarks.fuzz.script import script_of
from benchmarks.fuzz.shrink import shrink
from benchmarks.fuzz.truth import Truth
from benchmarks.fuzz.words import draw_case, draw_market
from libs.assignment.language.errors import ModelError

ASSIGNMENTS, ASSIGNMENTS_MOST = 300, 16_384
"""Assignments of a case: usual limit, and the limit of one case in twenty."""
MARKETS = 0.25
"""The share of cases that are markets."""
STATING = "problem"
"""Takes the place of a solver's name if stating the problem fails."""
Key = tuple[str, str]
"""Key of a finding: the solver, and the kind of finding."""


@dataclass
class Tally:
    """The counts and scripts of all runs.

    scripts  (solver, kind) -> the text of the first finding, and a script with the smallest case that shows it
    """

    cases: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    best: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[Key] = field(default_factory=Counter)
    scripts: dict[Key, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add the counts and scripts of `other`."""
        self.cases += other.cases
        for name in ("runs", "answered", "best", "refused", "kinds"):
            getattr(self, name).update(getattr(other, name))
        self.scripts |= {key: script for key, script in other.scripts.items() if key not in self.scripts}


def bench_fuzz(argv: list[str]) -> dict[str, object]:
    """Return the number of findings by kind. The same seed draws the same problems."""
    parser = argparse.ArgumentParser(prog="bench fuzz")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--cases", type=int, help="instead of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case of the seed")
    parser.add_argument("--solver", help="only this one")
    parser.add_argument("--scripts", type=Path, help="a file for scripts, written whenever there is a new kind")
    given = parser.parse_args(argv)
    until = time.monotonic() + 60.0 * given.minutes
    tally, numbers = Tally(), count(given.first)
    while tally.cases < given.cases if given.cases else time.monotonic() < until:
        before = len(tally.scripts)
        tally.add(_apart(given.seed, next(numbers), set(tally.scripts), given.solver))
        if len(tally.scripts) > before and given.scripts:
            given.scripts.write_text(scripts_of(tally))
    sys.stderr.write(scripts_of(tally))
    return {
        "cases": tally.cases,
        "runs": dict(tally.runs),
        "answered": dict(tally.answered),
        "best": dict(tally.best),
        "refused": dict(tally.refused),
        "findings": {f"{solver}: {kind}": times for (solver, kind), times in sorted(tally.kinds.items())},
    }


_worker: tuple[Connection, BaseProcess] | None = None


def _apart(seed: int, number: int, known: set[Key], solver: str | None) -> Tally:
    """Run cases from `number` on, in a separate process. If compiled code ends the process, that is a finding."""
    global _worker
    if _worker is None:
        context = get_context("fork")
        here, there = context.Pipe()
        process: BaseProcess = context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        _worker = here, process
    pipe, process = _worker
    pipe.send((seed, number, known, solver))
    at = ""
    try:
        while isinstance(said := pipe.recv(), str):
            at = said
    except EOFError:
        process.join()
        _worker = None
        key = ("any", f"killed by signal {-(process.exitcode or 0)}")
        return Tally(cases=1, kinds=Counter([key]), scripts={key: f"seed {seed}, case {number}\n\n{at}"})
    assert isinstance(said, Tally)
    return said


def _work(pipe: Connection) -> None:
    while True:
        seed, number, known, solver = pipe.recv()
        tally = Tally()
        fuzz_one(seed, number, tally, solver, known=known, say=pipe.send)
        pipe.send(tally)


def fuzz_one(
    seed: int,
    number: int,
    tally: Tally,
    solver: str | None = None,
    *,
    known: Collection[Key] = (),
    say: Callable[[str], None] = lambda _: None,
) -> list[Finding]:
    """Run case `number` of a seed by every solver in normal use, and by one run of ODD.

    known  kinds of findings that have a script already
    say    takes the script of each run before it begins
    """
    case, rng = case_of(seed, number)
    tally.cases += 1
    odd = ODD[int(rng.integers(len(ODD)))]
    run_seed, twice = int(rng.integers(3)), bool(rng.random() < 0.2)
    found: list[Finding] = []
    for run in (*PLAIN, odd):
        if solver and run.solver != solver:
            continue
        say(script_of(case, run, run_seed))
        judged = look(case, run, run_seed, twice=twice)
        _count(tally, run, judged)
        for finding in judged.findings:
            found.append(finding)
            key = (finding.solver, finding.kind)
            tally.kinds[key] += 1
            if key not in known and key not in tally.scripts:
                tally.scripts[key] = _smallest(case, run, run_seed, finding, twice=twice, say=say)
        if any(finding.solver == STATING for finding in judged.findings):
            break
    return found


def case_of(seed: int, number: int) -> tuple[Case, np.random.Generator]:
    """Return the case that `seed` and `number` determine. No other state has an influence."""
    rng = np.random.default_rng([seed, number])
    most = ASSIGNMENTS_MOST if rng.random() < 0.05 else ASSIGNMENTS
    drawn = draw_market if rng.random() < MARKETS else draw_case
    return drawn(Draw(rng), most), rng


def look(case: Case, run: Run, seed: int, *, twice: bool) -> Judged:
    """State a case and judge a run of it. A problem that the library refuses to state is not judged."""
    try:
        case.problem()
    except ModelError:
        return Judged(refused="as stated")
    except Exception as error:
        return Judged(findings=(crash(STATING, error),))
    return judge(case, Truth(case), run, seed, twice=twice)


def _smallest(case: Case, run: Run, seed: int, finding: Finding, *, twice: bool, say: Callable[[str], None]) -> str:
    """Return the finding of the smallest case, and its script."""

    def same(one: Case) -> list[str]:
        try:
            say(script_of(one, run, seed))
            findings = look(one, run, seed, twice=twice).findings
        except (IndexError, KeyError, ValueError):  # a removed item is still named
            return []
        return [new.what for new in findings if new.kind == finding.kind]

    small = shrink(case, lambda one: bool(same(one)))
    what = next(iter(same(small)), finding.what)
    return f"{what}\n\n```python\n{script_of(small, run, seed)}\n```\n"


def _count(tally: Tally, run: Run, judged: Judged) -> None:
    tally.runs[run.solver] += 1
    if judged.refused:
        tally.refused[f"{run.solver}: {judged.refused}"] += 1
    else:
        tally.answered[run.solver] += 1
    if judged.loss is not None and judged.loss <= 1e-6:
        tally.best[run.solver] += 1


def scripts_of(tally: Tally) -> str:
    """Return one section per script."""
    lines = []
    for (solver, kind), script in sorted(tally.scripts.items()):
        lines.append(f"\n## {solver}: {kind} ({tally.kinds[solver, kind]} in {tally.cases} cases)\n\n{script}")
    return "\n".join(lines)
