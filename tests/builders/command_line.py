"""Run `plimsoll up`, and run commands as forks of a process that has loaded them. Loading is most of their work."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from services.cli.main import main
from services.standalone.processes import Command, Process

ROOT = Path(__file__).parents[2]
MODULE = "services.cli.main"


@contextmanager
def running_platform(state: Path, **settings: str) -> Iterator[dict[str, str]]:
    """Run `plimsoll up` with its state in a folder, and with these settings. Yield the environment for commands."""
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    env |= {"PLIMSOLL_STATE_DIR": str(state), "COLUMNS": "200", **settings}
    ready = (state / "endpoint.json").exists
    process = Process(
        Command(name="up", argv=[sys.executable, "-m", MODULE, "up"], env=env, ready=ready, cwd=ROOT), state
    )
    process.wait_ready(300)
    try:
        yield env
    finally:
        process.stop(60)


class Plimsoll:
    """Commands of `plimsoll`, each in a process of its own, with one environment."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._server = self._started()

    def _started(self) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "tests.builders.command_line"]
        return subprocess.Popen(argv, env=self._env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run one command, and return its exit status and its output."""
        argv = [*map(str, arguments)]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.NamedTemporaryFile("r") as stdout, tempfile.NamedTemporaryFile("r") as stderr:
            self._server.stdin.write(json.dumps({"argv": argv, "stdout": stdout.name, "stderr": stderr.name}) + "\n")
            self._server.stdin.flush()
            try:
                status = int(self._server.stdout.readline())
            except BaseException:  # a test that was cut short: the next command must not read this one's answer
                self._server.kill()
                self._server.wait()
                self._server = self._started()
                raise
            return subprocess.CompletedProcess(argv, status, stdout.read(), stderr.read())

    def close(self) -> None:
        """End the process that commands are forked from."""
        self._server.communicate()


def _serve() -> None:
    """Fork a process for each command on standard input, and answer with its exit status."""
    import services.cli

    for module in pkgutil.iter_modules(services.cli.__path__, "services.cli."):
        if module.name != "services.cli.solve":  # every fork would copy the page tables of the solvers
            importlib.import_module(module.name)
    gc.freeze()  # a collection in a fork would copy all pages
    # Not readline: a buffer would be a part of every fork.
    for line in iter(_read_line, b""):
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _become(asked["argv"], asked["stdout"], asked["stderr"])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(1, f"{status}\n".encode())


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def _become(argv: list[str], stdout: str, stderr: str) -> None:
    """Become `plimsoll` with these arguments. Raises SystemExit."""
    for descriptor, path, flags in ((0, os.devnull, os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = ["plimsoll", *argv]
    main()
    raise SystemExit(0)


if __name__ == "__main__":
    _serve()
