"""Start Python modules as forks of a server that has loaded their code, which is most of the work of a start."""

import ctypes
import faulthandler
import multiprocessing
import os
import runpy
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_PRELOADED = ("tests.crash.forked", "services.scheduler.main", "libs.jobs.processes", "tests.crash.preloaded")
_PR_SET_PDEATHSIG = 1
_TELL_STACKS = signal.SIGRTMIN
_STACKS_S = 1.0
"""Seconds in which processes tell their stacks."""


class Forked:
    """A running `python -m MODULE [ARGUMENT ...]` in a session of its own. Its output is appended to a file."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_PRELOADED))
        log.touch()
        self._process = context.Process(target=_become, args=(list(argv), dict(env), str(log)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._log = log
        self._session_ended = False

    def stacks(self) -> str:
        """Return the stacks of all threads of its processes, for a person who wants to know why it hangs."""
        begin = self._log.stat().st_size
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, _TELL_STACKS)
        time.sleep(_STACKS_S)
        return self._log.read_bytes()[begin:].decode(errors="replace")

    def exit_status(self) -> int | None:
        """Return the exit status: None while it runs, -N after signal N. End what a dead one left of its session."""
        status = self._process.exitcode
        if status is not None:
            self._end_session()
        return status

    def kill(self) -> None:
        """End it and its session with SIGKILL, and wait for it."""
        self._end_session()
        self._process.kill()
        self._process.join()

    def _end_session(self) -> None:
        if self._session_ended:  # its id may belong to another process by now
            return
        self._session_ended = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def _become(argv: list[str], env: dict[str, str], log: str) -> None:
    """Become the module, as a new process with this environment would."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(output, standard)
    faulthandler.register(_TELL_STACKS)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = argv
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
