"""Run a worker and the scheduler as real processes on a test's database, kill them anywhere, and start them again."""

import os
import re
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from libs.reconcile.crash import KILLED_AT
from services.standalone.probe import HttpReady
from services.standalone.processes import Command, Process
from tests.crash.forked import Forked

WAIT_S_MAX = 240.0
"""Seconds: a few of them, except on a busy machine."""


def wait_until(
    condition: Callable[[], bool], what: str, *, s_max: float = WAIT_S_MAX, describe: Callable[[], str] = str
) -> None:
    """Wait until the condition holds. `describe` tells what is there instead when it did not in time."""
    deadline = time.monotonic() + s_max
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {s_max:g} s in vain until {what}\n{describe()}")
        time.sleep(0.05)


class JobProcesses:
    """One worker and the scheduler, by module and its arguments. A context that leaves nothing running."""

    def __init__(self, folder: Path, database_url: str, worker: str = "services.standalone.worker", **env: str) -> None:
        self._folder = folder
        self._modules = {"worker": worker.split(), "scheduler": ["services.scheduler.main", "work"]}
        self._running: dict[str, Forked] = {}
        self._log_starts: dict[str, int] = {}
        self._env = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "DATABASE_URL": database_url,
            "PLIMSOLL_DATABASE_POOL_SIZE": "3",
            "PLIMSOLL_BROKER_DIR": str(folder / "queue"),
            "PLIMSOLL_BROKER_POLL_S": "0.02",
            "PLIMSOLL_JOB_CYCLES": "{}",  # a test names the cycles that it needs
            "PLIMSOLL_JOB_WORLD_CYCLES": "{}",
            "PLIMSOLL_JOB_TICK_S": "0.05",
            "PLIMSOLL_JOB_LEASE_S": "2",
            "PLIMSOLL_JOB_S_MAX": "120",  # less than tests wait
            "PLIMSOLL_SOLVE_S_MAX": "100",
            "PLIMSOLL_PLAN_SOLVE_S_MAX": "100",
            "PLIMSOLL_JOB_RESEND_S": "1",
            "PLIMSOLL_JOB_ATTEMPTS_MAX": "100",  # a job dies at many points, and with others
            **env,
        }

    def __enter__(self) -> "JobProcesses":
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for name, process in self._running.items() if error is not None else ():
            print(f"stacks of the {name}:", process.stacks(), sep="\n")
        self.kill()

    def start(self, **env: str) -> None:
        """Start processes that do not run, with these variables."""
        for name, module in self._modules.items():
            if name not in self._running:
                log = self._folder / f"{name}.log"
                self._log_starts[name] = log.stat().st_size if log.exists() else 0
                self._running[name] = Forked(module, {**self._env, **env}, log)

    def crash_at_each(self, points: Collection[str]) -> None:
        """Run until a process has died at each of these points, in any order. Start it again after each death."""
        missing = set(points)
        while missing:
            self.start(PLIMSOLL_CRASH_AT=" ".join(sorted(missing)))
            missing -= self._wait_for_crash(missing)
        self.kill()  # a process that lived on still dies at points

    def _wait_for_crash(self, points: Collection[str]) -> set[str]:
        """Wait until a process, or one of the worker's pool, has killed itself. End the rest of it, and return where it
        died.
        """
        wait_until(lambda: any(map(self._crashed, self._running)), f"one of {', '.join(sorted(points))} is reached")
        found: set[str] = set()
        for name in list(self._running):
            if self._crashed(name):
                self.kill(name)
                found |= set(re.findall(rf"^{KILLED_AT}(\S+)$", self._log(name).decode(), re.MULTILINE))
        assert found, "a process died elsewhere"
        return found

    def kill(self, *names: str) -> None:
        """Kill these processes (default: all) with SIGKILL, and the worker's pool with them."""
        for name in names or tuple(self._running):
            self._running.pop(name).kill()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def exit_status(self, name: str) -> int | None:
        return self._running[name].exit_status()

    def _crashed(self, name: str) -> bool:
        return self._running[name].exit_status() is not None or b"(SIGKILL)" in self._log(name)

    def _log(self, name: str) -> bytes:
        """Return the output since the last start."""
        return (self._folder / f"{name}.log").read_bytes()[self._log_starts[name] :]


@contextmanager
def api(folder: Path, database_url: str, sock: socket.socket, **more: str) -> Iterator[Process]:
    """Run the API of all services on a listening socket."""
    host, port = sock.getsockname()
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    command = Command(
        name="api",
        argv=[
            *(sys.executable, "-m", "uvicorn", "--factory", "services.standalone.api:make_app"),
            *("--fd", str(sock.fileno()), "--no-access-log"),
        ],
        env=env | {"PYTHONPATH": str(Path(__file__).parents[2]), "DATABASE_URL": database_url, **more},
        ready=HttpReady(host, port),
        pass_fds=[sock.fileno()],
    )
    process = Process(command, folder)
    try:
        process.wait_ready()
        yield process
    finally:
        process.kill()
        process.stop()
