"""Faults of the machinery: processes, clocks, disks and connections. Each fault acts at once, and returns a description
or a function that undoes it later.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from libs.reconcile.clock import ScaledClock
from libs.reconcile.settings import ClockSettings
from services.standalone.supervisor import Supervisor
from soak.deck import cards
from soak.disk import SmallDisk
from soak.history import Recorder
from soak.proxy_process import Proxies, ProxyProcess
from soak.servers import Servers
from soak.unreliable import UnreliableServer

_PROGRAMS = ("api", "solver", "worker", "mover", "scheduler", "planner")
_POOLS = ("solver", "worker", "mover", "planner")
_JUMPS_S = (-3600.0, -600.0, -60.0, 600.0, 7200.0, 100_000.0)
"""Seconds by which the Clock may jump. A longer jump passes the timeout of a step, so that the step's outcome is
unknown.
"""
_WAITING = 0.3
"""Share of occasions on which an idle pool process is chosen if none is at work."""


@dataclass(slots=True)
class Faults:
    """Injects faults into a platform, with the random numbers of `chance`. Use it only in the main thread."""

    supervisor: Supervisor
    proxy: ProxyProcess | Proxies
    receiver: UnreliableServer
    systems: UnreliableServer
    disk: SmallDisk | None
    clock: ScaledClock
    recorder: Recorder
    chance: random.Random
    only: frozenset[str] = frozenset()
    """Names of the only faults to inject; empty: all that are possible here."""
    servers: Servers | None = None
    """The servers of the database, if there is a standby; None: the platform's own."""
    holders: Callable[[], Collection[int]] = tuple
    """Returns the ids of the processes that hold a job now."""
    _jumped: bool = False
    _deck: list[str] = field(default_factory=list)
    _later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def one(self) -> None:
        """Inject the fault of the next card.

        A fault without a target, such as a dead process, goes back into the deck.
        """
        if not self._deck:
            whole = cards(self.disk is not None).items()
            self._deck = [name for name, n in whole if not self.only or name in self.only for _ in range(n)]
            self.chance.shuffle(self._deck)
        name = self._deck.pop()
        detail = getattr(self, f"_{name}")()
        self.recorder.write("fault", name=name, detail=detail or "met nothing", hit=detail is not None)
        if detail is None:
            self._deck.insert(0, name)

    def undo_due(self, *, all_of_it: bool = False) -> None:
        """Undo the faults whose time is over, or all faults that last."""
        now_s = time.monotonic()
        due = [undo for at_s, undo in self._later if all_of_it or at_s <= now_s]
        self._later = [] if all_of_it else [later for later in self._later if later[0] > now_s]
        for undo in due:
            undo()

    def end(self) -> None:
        """Undo all faults that last.

        If the Clock has jumped, kill all processes, so that they agree on the time again.
        """
        self.undo_due(all_of_it=True)
        pids = self.supervisor.pids()
        for name in _programs(pids) if self._jumped else ():
            _signal(pids[name], signal.SIGKILL)
        self.recorder.write("fault", name="over", detail="no more from here on", hit=True)

    def fail_over(self) -> bool:
        """Lose the primary for good, and promote the standby. Return whether that happened."""
        detail = None if self.servers is None else self.servers.fail_over()
        if detail is not None:
            self.recorder.write("fault", name="fail_over", detail=detail, hit=True)
        return detail is not None

    def _for(self, duration_s: float, undo: Callable[[], object]) -> str:
        self._later.append((time.monotonic() + duration_s, undo))
        return f"{duration_s:.1f} s"

    def _kill(self) -> str | None:
        name, pid = self._program()
        said = _signal(pid, signal.SIGKILL)
        return said and f"{name} {said}"

    def _kill_pool(self) -> str | None:
        name, pid = self._pool_process()
        said = _signal(pid, signal.SIGKILL)
        return said and f"of {name} {said}"

    def _pause_pool(self) -> str | None:
        name, pid = self._pool_process()
        return self._stand_still(f"of {name}", pid)

    def _pause(self) -> str | None:
        return self._stand_still(*self._program())

    def _stand_still(self, name: str, pid: int | None) -> str | None:
        said = _signal(pid, signal.SIGSTOP)
        if said is None:
            return None
        return f"{name} {said} for {self._for(self.chance.uniform(1.0, 8.0), lambda: _signal(pid, signal.SIGCONT))}"

    def _kill_backend(self) -> str | None:
        pids = self._backends()
        return _signal(self.chance.choice(pids) if pids else None, signal.SIGKILL)

    def _end_connections(self) -> str | None:
        backends = self._backends()
        chosen = [pid for pid in backends if self.chance.random() < 0.5]
        for pid in chosen:
            _signal(pid, signal.SIGTERM)
        return f"{len(chosen)} of {len(backends)}" if chosen else None

    def _kill_postmaster(self) -> str | None:
        return _signal(self._postmaster(), signal.SIGKILL)

    def _cut(self) -> str | None:
        ends = self.proxy.cut(self.chance.choice((0.3, 1.0)), self.chance)
        return f"{ends} ends" if ends else None

    def _stall(self) -> str:
        duration_s = self.chance.uniform(0.5, 5.0)
        self.proxy.stall(duration_s)
        return f"{duration_s:.1f} s"

    def _no_receiver(self) -> str:
        return self._away(self.receiver)

    def _no_systems(self) -> str:
        return self._away(self.systems)

    def _away(self, server: UnreliableServer) -> str:
        duration_s = self.chance.uniform(1.0, 6.0)
        server.be_away(duration_s)
        return f"{duration_s:.1f} s"

    def _fill_disk(self) -> str:
        assert self.disk is not None
        room = self.disk.fill()
        return f"took {room} bytes for {self._for(self.chance.uniform(0.5, 4.0), self.disk.empty)}"

    def _jump_clock(self) -> str:
        """Make the Clock jump for each process from its next start on, and kill some processes now.

        The others restart later or never, so for a while the processes disagree, as machines do.
        """
        jump_s = self.chance.choice(_JUMPS_S)
        self._jumped = True
        self.clock = replace(self.clock, origin=self.clock.origin + timedelta(seconds=jump_s))
        self.supervisor.change_environment(ClockSettings.environment(self.clock))
        pids = self.supervisor.pids()
        now = [name for name in _programs(pids) if self.chance.random() < 0.5]
        for name in now:
            _signal(pids[name], signal.SIGKILL)
        return f"{jump_s:+g} s for {', '.join(now)}"

    def _program(self) -> tuple[str, int | None]:
        pids = self.supervisor.pids()
        name = self.chance.choice(_programs(pids) or ["none"])
        return name, pids.get(name)

    def _pool_process(self) -> tuple[str, int | None]:
        """Return a pool process that is at work. If there is none, sometimes return one that waits for work."""
        pids, holders = self.supervisor.pids(), self.holders()
        names = [name for name in _programs(pids) if _base(name) in _POOLS]
        found = [(name, pid) for name in names for pid in _children(pids[name], "")]
        at_work = [(name, pid) for name, pid in found if pid in holders]
        waiting = found if self.chance.random() < _WAITING else []
        return self.chance.choice(at_work or waiting or [("none", None)])

    def _backends(self) -> list[int]:
        return _children(self._postmaster(), "postgres: plimsoll")

    def _postmaster(self) -> int | None:
        return self.supervisor.pids().get("postgres") if self.servers is None else self.servers.pid


def _programs(pids: Mapping[str, int]) -> list[str]:
    """Return the names of the running programs of the platform, second copies included."""
    return [name for program in _PROGRAMS for name in pids if _base(name) == program]


def _base(name: str) -> str:
    return name.partition("-")[0]


def _signal(pid: int | None, number: signal.Signals) -> str | None:
    """Send a signal and return the process id as text; None if the process is gone."""
    if pid is None:
        return None
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return None
    return str(pid)


def _children(pid: int | None, title: str) -> list[int]:
    """Return the sorted children of a process whose command begins with `title`; none if the process is gone."""
    found = []
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{child}/cmdline").read_text(errors="replace").startswith(title):
                found.append(int(child))
    return sorted(found)
