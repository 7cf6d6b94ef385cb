"""Run several child processes as one: start them in order, restart dead ones, stop them in reverse order."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from libs.reconcile.call_retries import Backoff
from services.standalone.processes import Command, Process, Tell, tell_nothing

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_RESTARTS = Backoff(0.1, 10.0)
_WELL_AFTER_S = 60.0
_POLL_S, _TOLD_EVERY_S = 0.05, 5.0


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a listening socket. Port 0 takes a free port; read it from `getsockname()[1]`. Raises OSError if it is
    taken.

    Pass it to a server (`pass_fds=[s.fileno()]`, `uvicorn --fd`) and keep it open. Then no other process can take the
    port, and clients that call during a restart wait instead of being refused.
    """
    listening = socket.create_server((host, port), backlog=128)
    # uvicorn takes an inherited socket for a Unix one and leaves this out. Connections inherit it from here.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@dataclass(slots=True)
class _Child:
    command: Command
    process: Process
    started_at: float  # monotonic, s
    deaths: int = 0  # deaths since it last ran well
    restart_at: float | None = None  # monotonic, s; None while it runs


class Supervisor:
    """Runs commands until the block ends, however it ends. Use it in the main thread.

        with Supervisor(state / "logs") as supervisor:
            supervisor.start(api)
            supervisor.run()

    SIGTERM, SIGINT and SIGHUP leave the block with SystemExit(128 + signal). A second signal while children stop kills
    them. Killed by SIGKILL, the supervisor leaves no child behind on Linux: see `Command.orphan_signal`.
    """

    def __init__(self, log_dir: Path, *, stop_s_max: float = 15.0, tell: Tell = tell_nothing) -> None:
        self.log_dir = log_dir
        self.after_stop = ExitStack()
        """Contexts that children need, such as the lock of a database. They are closed once every child has ended."""
        self._stop_s_max = stop_s_max
        self._tell = tell
        self._children: list[_Child] = []
        self._previous: dict[signal.Signals, signal.Handlers] = {}
        self._stopping = False

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)  # type: ignore[assignment]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.stop()
        finally:
            for number, handler in self._previous.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopping:
            self._stop_s_max = 0.0
            for child in self._children:
                child.process.kill()
        else:
            sys.stderr.write("stopping; a second time ends everything at once\n")
            sys.exit(128 + number)

    def start(self, command: Command) -> None:
        """Start a child and wait until it is ready. Raises ChildFailed with the end of its log."""
        self.launch(command)
        self.wait_ready(command.name)

    def launch(self, command: Command) -> None:
        """Start a child without waiting."""
        self._tell(f"starting {command.name}")
        self._children.append(_Child(command, Process(command, self.log_dir), time.monotonic()))

    def wait_ready(self, name: str) -> None:
        """Wait until a child is ready. Raises ChildFailed with the end of its log."""
        next(child for child in self._children if child.command.name == name).process.wait_ready(tell=self._tell)

    def wait_until_ready(self) -> None:
        """Wait until every child is ready. One that dies meanwhile starts again."""
        waiting, told = list(self._children), time.monotonic()
        while True:
            self.tend()
            waiting = [child for child in waiting if child.restart_at is not None or not child.command.ready()]
            if not waiting:
                return
            if time.monotonic() - told > _TOLD_EVERY_S:
                told = time.monotonic()
                self._tell(f"waiting for {', '.join(child.command.name for child in waiting)}")
            time.sleep(_POLL_S)

    def tend(self) -> None:
        """Restart each child that has died, however often. The other children keep running, above all the database.

        Never waits. A child that dies often restarts after a growing pause.
        """
        now = time.monotonic()
        for child in self._children:
            child.process.rotate_log()
            if child.restart_at is None:
                status = child.process.exit_status()
                if status is None:
                    if now - child.started_at > _WELL_AFTER_S:
                        child.deaths = 0
                    continue
                child.deaths += 1
                pause_s = _RESTARTS.wait_s(child.deaths)
                child.restart_at = now + pause_s
                times = "" if child.deaths == 1 else f", {child.deaths} times in a row"
                log = child.process.log_path
                self._tell(f"{child.command.name} died{times} (status {status}): starts again in {pause_s:g} s; {log}")
            elif now >= child.restart_at:
                child.process = Process(child.command, self.log_dir)
                child.started_at, child.restart_at = now, None

    def deaths(self) -> Mapping[str, int]:
        """Return how often each child has died since it last ran well. Children without a death are omitted."""
        return {child.command.name: child.deaths for child in self._children if child.deaths}

    def pids(self) -> Mapping[str, int]:
        """Return the process ids of the running children, by name."""
        return {child.command.name: child.process.pid for child in self._children if child.restart_at is None}

    def command(self, name: str) -> Command:
        """Return the command of a child."""
        return next(child.command for child in self._children if child.command.name == name)

    def change_environment(self, more: Mapping[str, str]) -> None:
        """Add variables to every child's environment, from its next start on."""
        for child in self._children:
            child.command = replace(child.command, env={**child.command.env, **more})

    def run(self) -> None:
        """Restart dead children until a signal ends this."""
        while True:
            self.tend()
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the children, then close `after_stop`. A second call does nothing.

        Stop all children at the same time, so that this takes as long as the slowest of them. Then stop the children
        that others need one by one, the last started first.
        """
        self._stopping = True
        # a stable sort keeps the order of starts
        self._children.sort(key=lambda child: not child.command.needed_by_others)
        for child in reversed(self._children):
            if not child.command.needed_by_others:
                child.process.ask_to_end()
        while self._children:
            self._children[-1].process.stop(self._stop_s_max)
            self._children.pop()
        self.after_stop.close()
