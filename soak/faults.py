"""What can go wrong with the machinery. Each does its harm now and gives back what to say of it, or to undo later."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from libs.reconcile.clock import ScaledClock
from libs.reconcile.settings import ClockSettings
from services.standalone.supervisor import Supervisor
from soak.disk import SmallDisk
from soak.history import Recorder
from soak.proxy import DatabaseProxy

WEIGHTS: Mapping[str, int] = {
    "kill": 4,  # one of the platform's processes
    "kill_pool": 4,  # a pool process of a worker, in the middle of its job
    "kill_backend": 1,  # PostgreSQL then ends all connections and recovers
    "kill_postmaster": 1,
    "end_connections": 3,  # as pg_terminate_backend does
    "cut": 3,  # connections break in the middle of what they carry
    "stall": 2,  # the network holds everything back
    "pause": 2,  # a worker's process stands still for longer than its lease
    "fill_disk": 1,
    "jump_clock": 2,
}
_PROGRAMS = ("api", "solver", "worker", "scheduler")
_JUMPS_S = (-600.0, -60.0, 600.0, 7200.0, 100_000.0)
"""On the Clock; the longest is more than a day."""


@dataclass(slots=True)
class Faults:
    """Does harm to a platform, by the random numbers of `chance`. Only in the main thread."""

    supervisor: Supervisor
    proxy: DatabaseProxy
    disk: SmallDisk | None
    clock: ScaledClock
    recorder: Recorder
    chance: random.Random
    _later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def kinds(self) -> dict[str, int]:
        """What can be done here -> how often, by weight."""
        return {name: weight for name, weight in WEIGHTS.items() if name != "fill_disk" or self.disk is not None}

    def one(self) -> None:
        """Do one thing, drawn by weight."""
        kinds = self.kinds()
        [name] = self.chance.choices(list(kinds), list(kinds.values()))
        detail = getattr(self, f"_{name}")()
        self.recorder.write("fault", name=name, detail=detail)

    def undo_due(self, *, all_of_it: bool = False) -> None:
        """End what lasts for a while and is over; or whatever lasts."""
        now_s = time.monotonic()
        due = [undo for at_s, undo in self._later if all_of_it or at_s <= now_s]
        self._later = [] if all_of_it else [later for later in self._later if later[0] > now_s]
        for undo in due:
            undo()

    def _for(self, duration_s: float, undo: Callable[[], object]) -> str:
        self._later.append((time.monotonic() + duration_s, undo))
        return f"{duration_s:.1f} s"

    def _kill(self) -> str:
        pids = self.supervisor.pids()
        name = self.chance.choice([name for name in _PROGRAMS if name in pids] or ["nobody"])
        return f"{name} {_signal(pids.get(name), signal.SIGKILL)}"

    def _kill_pool(self) -> str:
        name, pid = self._pool_process()
        return f"of {name} {_signal(pid, signal.SIGKILL)}"

    def _pause(self) -> str:
        name, pid = self._pool_process()
        said = _signal(pid, signal.SIGSTOP)
        lasts = self._for(self.chance.uniform(1.0, 8.0), lambda: _signal(pid, signal.SIGCONT))
        return f"of {name} {said} for {lasts}"

    def _kill_backend(self) -> str:
        return _signal(self._backend(), signal.SIGKILL)

    def _end_connections(self) -> str:
        backends = _children(self.supervisor.pids().get("postgres"), "postgres: plimsoll")
        chosen = [pid for pid in backends if self.chance.random() < 0.5]
        for pid in chosen:
            _signal(pid, signal.SIGTERM)
        return f"{len(chosen)} of {len(backends)}"

    def _kill_postmaster(self) -> str:
        return _signal(self.supervisor.pids().get("postgres"), signal.SIGKILL)

    def _cut(self) -> str:
        return f"{self.proxy.cut(self.chance.choice((0.3, 1.0)), self.chance)} ends"

    def _stall(self) -> str:
        duration_s = self.chance.uniform(0.5, 5.0)
        self.proxy.stall(duration_s)
        return f"{duration_s:.1f} s"

    def _fill_disk(self) -> str:
        assert self.disk is not None
        room = self.disk.fill()
        return f"took {room} bytes for {self._for(self.chance.uniform(0.5, 4.0), self.disk.empty)}"

    def _jump_clock(self) -> str:
        """Every process lives by the new time from its next start on: some are killed now, the others later or never.

        So for a while they disagree, as machines do.
        """
        jump_s = self.chance.choice(_JUMPS_S)
        self.clock = replace(self.clock, origin=self.clock.origin + timedelta(seconds=jump_s))
        self.supervisor.change_environment(ClockSettings.environment(self.clock))
        pids = self.supervisor.pids()
        now = [name for name in _PROGRAMS if name in pids and self.chance.random() < 0.7]
        for name in now:
            _signal(pids[name], signal.SIGKILL)
        return f"{jump_s:+g} s for {', '.join(now)}"

    def _pool_process(self) -> tuple[str, int | None]:
        name = self.chance.choice(("solver", "worker"))
        pids = _children(self.supervisor.pids().get(name), "")
        return name, self.chance.choice(pids) if pids else None

    def _backend(self) -> int | None:
        pids = _children(self.supervisor.pids().get("postgres"), "postgres: plimsoll")
        return self.chance.choice(pids) if pids else None


def _signal(pid: int | None, number: signal.Signals) -> str:
    if pid is None:
        return "not there"
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    return str(pid)


def _children(pid: int | None, title: str) -> list[int]:
    """The children of a process whose command begins so, in order; none where it is gone."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{child}/cmdline").read_text(errors="replace").startswith(title):
                found.append(int(child))
    return sorted(found)
