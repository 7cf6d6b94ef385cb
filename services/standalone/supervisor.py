"""Several child processes as one: started in order, restarted when they die, stopped in reverse order."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from services.standalone.processes import ChildFailed, Command, Process

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
RESTARTS_MAX = 8
_BACKOFF_S_MIN, _BACKOFF_S_MAX = 0.1, 10.0
_WELL_AFTER_S = 60.0


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A listening socket; port 0 takes a free one, which `getsockname()[1]` tells. Raises OSError when it is taken.

    Pass it to a server (`pass_fds=[s.fileno()]`, `uvicorn --fd`) and keep it open: no port is picked and then lost to
    somebody else, and clients that call while the server restarts wait instead of being refused.
    """
    listening = socket.create_server((host, port), backlog=128)
    # uvicorn takes an inherited socket for a Unix one and leaves this out; connections inherit it from here.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def http_ready(host: str, port: int, path: str = "/readyz") -> bool:
    """Whether `path` answers 200 within a second. Asks directly: no proxy of the environment is used."""
    connection = HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


@dataclass(slots=True)
class _Child:
    command: Command
    process: Process
    started_at: float  # monotonic, s
    deaths: int = 0  # since it last ran well
    restart_at: float | None = None  # monotonic, s; None while it runs


class Supervisor:
    """Runs commands until the block ends, however it ends. Use it in the main thread.

        with Supervisor(state / "logs") as supervisor:
            supervisor.start(api)
            supervisor.run()

    SIGTERM, SIGINT and SIGHUP leave the block with SystemExit(128 + signal), and a second one while children stop ends
    them by force. Killed by SIGKILL, it leaves nothing behind on Linux: see `Command.orphan_signal`.
    """

    def __init__(self, log_dir: Path, *, stop_s_max: float = 15.0, restarts_max: int = RESTARTS_MAX) -> None:
        self.log_dir = log_dir
        self.after_stop = ExitStack()
        """Closed when every child has ended: what they needed, such as a database's lock."""
        self._stop_s_max = stop_s_max
        self._restarts_max = restarts_max
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

    def start(self, command: Command, *, ready_s_max: float = 60.0) -> None:
        """Start a child and wait until it is ready. Raises ChildFailed with the end of its log."""
        process = Process(command, self.log_dir)
        self._children.append(_Child(command, process, time.monotonic()))
        process.wait_ready(ready_s_max)

    def tend(self) -> None:
        """Restart who died. Never waits. Raises ChildFailed when one died too often without running well between."""
        now = time.monotonic()
        for child in self._children:
            if child.restart_at is None:
                status = child.process.exit_status()
                if status is None:
                    if now - child.started_at > _WELL_AFTER_S:
                        child.deaths = 0
                    continue
                child.deaths += 1
                if child.deaths > self._restarts_max:
                    name, tail = child.command.name, child.process.log_tail()
                    raise ChildFailed(f"{name} died {child.deaths} times, last with status {status}\n{tail}")
                child.restart_at = now + min(_BACKOFF_S_MIN * 2 ** (child.deaths - 1), _BACKOFF_S_MAX)
            elif now >= child.restart_at:
                child.process = Process(child.command, self.log_dir)
                child.started_at, child.restart_at = now, None

    def pids(self) -> Mapping[str, int]:
        """Process id by name, of the children that run."""
        return {child.command.name: child.process.pid for child in self._children if child.restart_at is None}

    def change_environment(self, more: Mapping[str, str]) -> None:
        """Every child's environment holds these as well, from its next start on."""
        for child in self._children:
            child.command = replace(child.command, env={**child.command.env, **more})

    def run(self) -> None:
        """Tend the children until a signal ends this."""
        while True:
            self.tend()
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the children, then close `after_stop`. Does nothing the second time.

        All at once, so that the slowest is waited for and not the sum; but those that others need one by one after
        them, last started first.
        """
        self._stopping = True
        self._children.sort(key=lambda child: not child.command.needed_by_others)  # keeps the order in which they began
        for child in reversed(self._children):
            if not child.command.needed_by_others:
                child.process.ask_to_end()
        while self._children:
            self._children[-1].process.stop(self._stop_s_max)
            self._children.pop()
        self.after_stop.close()
