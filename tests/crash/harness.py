"""Real processes, a worker and the scheduler, on a test's database; killed anywhere, started again."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from services.standalone.processes import Command, Process

WAIT_S_MAX = 90.0
"""Nothing takes nearly so long, except on a machine that does something else as well."""


def wait_until(condition: Callable[[], bool], what: str, *, s_max: float = WAIT_S_MAX) -> None:
    deadline = time.monotonic() + s_max
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {s_max:g} s in vain until {what}")
        time.sleep(0.05)


class JobProcesses:
    """One worker and the scheduler, by module. Use it as a context: it leaves nothing running."""

    def __init__(self, folder: Path, database_url: str, worker: str = "services.standalone.worker", **env: str) -> None:
        self._folder, self._worker = folder, worker
        self._env = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "DATABASE_URL": database_url,
            "PLIMSOLL_DATABASE_POOL_SIZE": "3",
            "PLIMSOLL_BROKER_DIR": str(folder / "queue"),
            "PLIMSOLL_BROKER_POLL_S": "0.02",
            "PLIMSOLL_JOB_TICK_S": "0.2",
            "PLIMSOLL_JOB_LEASE_S": "2",
            "PLIMSOLL_JOB_RESEND_S": "1",
            "PLIMSOLL_JOB_ATTEMPTS_MAX": "20",
            **env,
        }
        self.worker: Process | None = None
        self.scheduler: Process | None = None

    def __enter__(self) -> "JobProcesses":
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    def start(self, **env: str) -> None:
        self.worker = self._start("worker", self._worker, env)
        self.scheduler = self._start("scheduler", "services.standalone.scheduler", env)

    def crashed(self) -> bool:
        """Whether a process died, or one of the worker's pool was killed by a signal."""
        return (
            any(process is not None and process.exit_status() is not None for process in (self.worker, self.scheduler))
            or "(SIGKILL)" in self.log()
        )

    def kill(self) -> None:
        """kill -9 of both, the worker's pool with it."""
        for process in (self.worker, self.scheduler):
            if process is not None:
                process.kill()
                process.stop()
        self.worker = self.scheduler = None

    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self._folder.glob("*.log")))

    def _start(self, name: str, module: str, env: dict[str, str]) -> Process:
        argv = [sys.executable, "-m", module]
        return Process(Command(name=name, argv=argv, env={**self._env, **env}), self._folder)
