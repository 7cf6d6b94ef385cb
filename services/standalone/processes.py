"""Start one child process that cannot outlive this process, wait for it, and stop it with all its children."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from services.standalone import exec_child

_POLL_S = 0.02
_LOG_BYTES_MAX = 20_000_000
_STILL_S_MAX = 60.0
"""Seconds without work after which a child counts as stuck."""
_WORK_CPU_S = 0.5
"""Seconds of processor time that count as work. A server that only waits takes some time too."""
_TOLD_EVERY_S = 5.0
_CHATTER = ("debug", "info")
Tell = Callable[[str], None]
"""A callback that takes a sentence for the person who waits."""


class ChildFailed(RuntimeError):
    """A child ended or did not get ready. The message holds the last lines of its log."""


def tell_nothing(sentence: str) -> None:
    """Tell nothing, for a caller without a waiting person."""


def always_ready() -> bool:
    """Return true, for a child that needs no probe."""
    return True


@dataclass(frozen=True, kw_only=True)
class Command:
    """A program to run, and how to start, probe and stop it.

    name            for people, and for the log file `<name>.log`
    argv            argv[0] is an absolute path
    env             the whole environment of the child
    ready           called again and again until it is true; must return quickly and not raise. Its attribute `last`,
                    if it has one, says what is still missing.
    stop_signal     asks the child to end in order
    orphan_signal   the kernel sends it to the child when we are killed, on Linux only. SIGKILL unless the child has
                    work to finish or children of its own to end.
    run_as          the id of the child's user and group if we are root; None: ours
    needed_by_others    stopped after all others, because they need it to end well
    pass_fds        file descriptors that the child inherits, such as a listening socket
    cwd             its working folder; ours if None
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    ready: Callable[[], bool] = always_ready
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL
    run_as: int | None = None
    needed_by_others: bool = False
    pass_fds: Sequence[int] = ()
    cwd: Path | None = None

    def wrapped_argv(self) -> list[str]:
        """Return the command behind `exec_child`. exec_child becomes the command, so the process id stays."""
        user = "-" if self.run_as is None or os.geteuid() != 0 else str(self.run_as)
        ours = [sys.executable, "-I", "-S", exec_child.__file__, str(os.getpid()), str(int(self.orphan_signal)), user]
        return [*ours, *self.argv]


class Process:
    """A running Command. Its output is appended to `<log_dir>/<name>.log`."""

    def __init__(self, command: Command, log_dir: Path) -> None:
        """Start the child.

        Only in the main thread: the kernel treats the end of the starting thread as the end of the parent.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("start child processes in the main thread: they end with the thread that started them")
        self.command = command
        self.log_path = log_dir / f"{command.name}.log"
        log_dir.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if self.log_path.stat().st_size > _LOG_BYTES_MAX:
                self.log_path.replace(self.log_path.with_suffix(".log.1"))
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            # Its own session: Ctrl-C reaches only us, and we stop the children in order.
            self._popen = subprocess.Popen(  # noqa: S603
                command.wrapped_argv(),
                env=dict(command.env),
                cwd=command.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=command.pass_fds,
                start_new_session=True,
            )
        self.pid = self._popen.pid
        self._group_ended = False
        self._asked = False

    def rotate_log(self) -> None:
        """Copy a large log to `<name>.log.1`, and empty it.

        The child continues to append to the same file, so the file is copied and then truncated. Lines written in
        between are lost.
        """
        with suppress(FileNotFoundError):
            if self.log_path.stat().st_size > _LOG_BYTES_MAX:
                shutil.copyfile(self.log_path, self.log_path.with_suffix(".log.1"))
                os.truncate(self.log_path, 0)
                self._log_start = 0

    def exit_status(self) -> int | None:
        """Return the exit status: None while it runs, -N after signal N. End the process group that a dead child
        left.
        """
        status = self._popen.poll()
        if status is not None and not self._group_ended:
            self._group_ended = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return status

    def wait_ready(self, still_s_max: float = _STILL_S_MAX, *, tell: Tell = tell_nothing) -> None:
        """Return once `command.ready()` is true, however long that takes while the child works.

        Raises ChildFailed if the child ends, or takes almost no processor time for `still_s_max` seconds.
        """
        began = told = worked = time.monotonic()
        cpu_s = 0.0
        while True:
            status = self.exit_status()
            if status is not None:
                raise ChildFailed(f"{self.command.name} ended with status {status}\n{self.log_tail()}")
            if self.command.ready():
                return
            now, cpu_now_s = time.monotonic(), _cpu_s(self.pid)
            if cpu_now_s > cpu_s + _WORK_CPU_S:
                worked, cpu_s = now, cpu_now_s
            elif now - worked > still_s_max:
                reason = f"{self.command.name} was not ready after {now - began:.0f} s, and does nothing"
                raise ChildFailed("\n".join([reason, *self._last_answer(), self.log_tail()]))
            if now - told > _TOLD_EVERY_S:
                told = now
                tell(f"{self.command.name} is starting: {now - began:.0f} s, {cpu_now_s:.0f} s of processor time")
            time.sleep(_POLL_S)

    def _last_answer(self) -> list[str]:
        said = getattr(self.command.ready, "last", "")
        return [f"it answers: {said}"] if said else []

    def ask_to_end(self) -> None:
        """Send the stop signal once, because programs take a second one as a command to hurry."""
        if not self._asked and self.exit_status() is None:
            self._asked = True
            self._popen.send_signal(self.command.stop_signal)

    def stop(self, s_max: float = 15.0) -> int:
        """Ask the child to end. After `s_max` seconds kill it and its process group. Returns the exit status."""
        self.ask_to_end()
        if self.exit_status() is None:
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(s_max)
        if self.exit_status() is None:
            self.kill()
            self._popen.wait()
        status = self.exit_status()
        assert status is not None
        return status

    def kill(self) -> None:
        """Kill the child and its process group now. The caller may still have to wait for it."""
        if self._popen.returncode is None:  # once reaped, its id may belong to another process
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines of this child's log with its path. Of our own logs, keep only errors and warnings."""
        with self.log_path.open("rb") as log:
            log.seek(max(self._log_start, self.log_path.stat().st_size - 100_000))
            text = log.read().decode(errors="replace")
        telling = [line for line in text.splitlines() if not _is_chatter(line)]
        return "\n".join([f"--- {self.log_path}", *(telling or ["(no error in its log)"])[-lines:]])


def _is_chatter(line: str) -> bool:
    """Return whether a line of our own logs reports no trouble, such as the line of each request."""
    if not line.startswith("{"):
        return False
    try:
        return json.loads(line).get("level") in _CHATTER
    except ValueError:
        return False


def _cpu_s(pid: int) -> float:
    """Return the seconds of processor time of a process and its reaped children; 0 if it has ended."""
    try:
        used = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(used.user + used.system + used.children_user + used.children_system)
