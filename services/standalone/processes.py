"""One child process: started so that it cannot outlive us, waited for, and stopped with all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from services.standalone import exec_child

_POLL_S = 0.02
_LOG_BYTES_MAX = 20_000_000


class ChildFailed(RuntimeError):
    """A child ended or did not get ready; the message holds the last lines of its log."""


def always_ready() -> bool:
    """For a child that has nothing to be asked."""
    return True


@dataclass(frozen=True, kw_only=True)
class Command:
    """What to run.

    name            for people, and of the log file `<name>.log`
    argv            argv[0] is an absolute path
    env             the whole environment of the child
    ready           asked again and again until it is true; must return quickly and not raise
    stop_signal     asks the child to end in order
    orphan_signal   what the kernel sends it when we are killed; only Linux does. SIGKILL unless the child has work to
                    finish or children of its own to end.
    drop_root       run as an unprivileged user when we are root
    needed_by_others    stopped only when the others have ended, which need it to end well
    pass_fds        file descriptors the child inherits, such as a listening socket
    cwd             its working folder; ours when None
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    ready: Callable[[], bool] = always_ready
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL
    drop_root: bool = False
    needed_by_others: bool = False
    pass_fds: Sequence[int] = ()
    cwd: Path | None = None

    def wrapped_argv(self) -> list[str]:
        """The command behind `exec_child`, which becomes it: same process id."""
        root = "drop-root" if self.drop_root and os.geteuid() == 0 else "keep-root"
        ours = [sys.executable, "-I", "-S", exec_child.__file__, str(os.getpid()), str(int(self.orphan_signal)), root]
        return [*ours, *self.argv]


class Process:
    """A running Command. Its output is appended to `<log_dir>/<name>.log`."""

    def __init__(self, command: Command, log_dir: Path) -> None:
        """Start the child.

        Only in the main thread: the kernel takes the end of the thread that started a child for the end of the parent.
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
            # Its own session: Ctrl-C reaches us only, and we stop the children in order.
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

    def exit_status(self) -> int | None:
        """None while it runs; -N after signal N. Ends whatever a dead child left in its process group."""
        status = self._popen.poll()
        if status is not None and not self._group_ended:
            self._group_ended = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return status

    def wait_ready(self, s_max: float = 60.0) -> None:
        """Return when `command.ready()` is true. Raises ChildFailed when the child ends or `s_max` seconds pass."""
        deadline = time.monotonic() + s_max
        while True:
            status = self.exit_status()
            if status is not None:
                raise ChildFailed(f"{self.command.name} ended with status {status}\n{self.log_tail()}")
            if self.command.ready():
                return
            if time.monotonic() > deadline:
                raise ChildFailed(f"{self.command.name} was not ready after {s_max:g} s\n{self.log_tail()}")
            time.sleep(_POLL_S)

    def ask_to_end(self) -> None:
        """Send it the stop signal, once: programs take a second one for impatience."""
        if not self._asked and self.exit_status() is None:
            self._asked = True
            self._popen.send_signal(self.command.stop_signal)

    def stop(self, s_max: float = 15.0) -> int:
        """Ask it to end; after `s_max` seconds end it and its process group by force. Returns the exit status."""
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
        """End it and its process group now; it may still have to be waited for."""
        if self._popen.returncode is None:  # once reaped, the id may be somebody else's
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def log_tail(self, lines: int = 20) -> str:
        """The last lines this child wrote, with the file they come from."""
        with self.log_path.open("rb") as log:
            log.seek(max(self._log_start, self.log_path.stat().st_size - 10_000))
            text = log.read().decode(errors="replace")
        return "\n".join([f"--- {self.log_path}", *text.splitlines()[-lines:]])
