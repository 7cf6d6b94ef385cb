"""Run a short soak with a seed of its own: the whole command, real processes, and no finding; and check the faults.

If no disk can be filled, it runs without that fault. test_disk.py is then skipped with the reason.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from libs.reconcile.clock import ScaledClock
from soak.deck import cards
from soak.faults import Faults
from soak.history import History, Recorder
from soak.judge import judge

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
@pytest.mark.timeout(1200)  # enough for a busy machine to settle: it ends as soon as that happens
def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    """The first fault of this seed always takes effect, even if there is time for only one."""
    recorded = tmp_path / "history.jsonl"
    sizes = ["--duration", "15", "--fault-every", "1.5", "--clients", "3", "--region-servers", "60", "--settle", "600"]
    command = [sys.executable, "-m", "soak", "faults", "--seed", "16", "--history", str(recorded), *sizes]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1100, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    history = History.read(recorded)
    assert any(fault["hit"] and fault["name"] not in ("begin", "over") for fault in history.faults), said
    assert any(operation.done for operation in history.operations), "no client was ever told that anything is done"
    assert judge(history) == []


CERTAIN = {"stall", "jump_clock", "no_receiver", "no_systems"}
"""Faults that always meet something."""


class Nothing:
    """A platform without processes, with a clock and a network that accept every fault."""

    def pids(self) -> dict[str, int]:
        return {}

    def change_environment(self, more: dict[str, str]) -> None:
        assert more

    def cut(self, *_: Any) -> int:
        return 0

    def stall(self, duration_s: float) -> None:
        assert duration_s > 0

    def be_away(self, duration_s: float) -> None:
        assert duration_s > 0


def dealt(folder: Path, number: int, only: tuple[str, ...] = ()) -> tuple[dict[str, Any], ...]:
    now, path, nothing = datetime.now(UTC), folder / "history.jsonl", Nothing()
    with Recorder(path) as recorder:
        given: Any = (nothing,) * 4 + (None, ScaledClock(now, now, 60.0), recorder, random.Random(5))
        faults = Faults(*given, only=frozenset(only))
        for _ in range(number):
            faults.one()
    return History.read(path).faults


def test_a_fault_that_met_nothing_is_said_to_and_is_dealt_again(tmp_path: Path) -> None:
    faults = dealt(tmp_path, 100)
    assert {fault["name"] for fault in faults if fault["hit"]} == CERTAIN
    missed = Counter(fault["name"] for fault in faults if not fault["hit"])
    assert missed.keys() == cards(small_disk=False).keys() - CERTAIN
    assert missed["kill"] > cards(small_disk=False)["kill"]


def test_no_faults_but_those_that_are_asked_for(tmp_path: Path) -> None:
    assert {fault["name"] for fault in dealt(tmp_path, 20, only=("stall", "cut"))} == {"stall", "cut"}


def waiting() -> subprocess.Popen[bytes]:
    """Start a process that waits for the end of its input."""
    return subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)


def platform_of(folder: Path, pids: dict[str, int], **named: Any) -> Faults:
    now, nothing = datetime.now(UTC), Nothing()
    nothing.pids = lambda: pids  # type: ignore[method-assign]
    clock, recorder = ScaledClock(now, now, 60.0), Recorder(folder / "history.jsonl")
    given: Any = (nothing,) * 4 + (None, clock, recorder, random.Random(5))
    return Faults(*given, **named)


def test_of_pool_processes_one_that_is_at_work_is_met(tmp_path: Path) -> None:
    """Of two children of a "worker", which is this process, the fault chooses the one with a job."""
    children = [waiting(), waiting()]
    faults = platform_of(tmp_path, {"worker": os.getpid()}, holders=lambda: {children[1].pid}, only={"kill_pool"})
    with faults.recorder:
        faults.one()
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0, -signal.SIGKILL]


@pytest.mark.parametrize("jumps", [False, True])
def test_at_the_end_all_live_by_the_same_time(jumps: bool, tmp_path: Path) -> None:
    """The solver missed the jump; without a jump it is left alone."""
    solver = waiting()
    faults = platform_of(tmp_path, {}, only=frozenset({"jump_clock"}))
    with faults.recorder:
        if jumps:
            faults.one()
        faults.supervisor.pids = lambda: {"solver": solver.pid}  # type: ignore[method-assign]
        faults.end()
    solver.communicate()
    assert solver.returncode == (-signal.SIGKILL if jumps else 0)


def test_the_clock_jumps_back_too_and_past_what_a_step_may_take(tmp_path: Path) -> None:
    jumps = json.dumps(dealt(tmp_path, 50, only=("jump_clock",)))
    assert "-3600 s" in jumps
    assert "+100000 s" in jumps


def test_a_second_copy_of_a_program_is_met_too(tmp_path: Path) -> None:
    """Processes that are no program of the platform's, such as a standby, are left alone."""
    copy = waiting()
    faults = platform_of(tmp_path, {"standby": os.getpid(), "scheduler-2": copy.pid}, only=frozenset({"kill"}))
    with faults.recorder:
        faults.one()
    copy.communicate()
    assert copy.returncode == -signal.SIGKILL


@pytest.mark.parametrize("detail", [None, "7 lost, 8 promoted"])
def test_a_standby_that_is_behind_is_asked_again(detail: str | None, tmp_path: Path) -> None:
    servers: Any = Nothing()
    servers.fail_over = lambda: detail
    faults = platform_of(tmp_path, {}, servers=servers)
    with faults.recorder:
        assert faults.fail_over() == (detail is not None)
    said = [(fault["name"], fault["detail"]) for fault in History.read(tmp_path / "history.jsonl").faults]
    assert said == ([] if detail is None else [("fail_over", detail)])
