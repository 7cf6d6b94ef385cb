"""Find and end the server that runs on a data folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_PATIENCE_S = 10


def pid_file(data: Path) -> list[str]:
    """Return the lines of postmaster.pid: the process id first, the server's state eighth. Empty if there is no
    file.
    """
    try:
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


def live_postmaster(data: Path) -> int | None:
    """Return the process id of a server that runs on exactly this folder. An id in postmaster.pid alone proves
    nothing.
    """
    pid = next(iter(pid_file(data)), "")
    if not pid.isdigit():
        return None
    argv = _argv(pid)
    return int(pid) if argv and argv[0].endswith("/postgres") and str(data) in argv else None


def _argv(pid: str) -> list[str]:
    if sys.platform != "linux":
        ps = ["/bin/ps", "-ww", "-o", "command=", "-p", pid]
        shown = subprocess.run(ps, capture_output=True, text=True, check=False).stdout  # noqa: S603
        program, _, rest = shown.partition(" -D ")
        return [program, rest.partition(" -p ")[0]]
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="surrogateescape").split("\0")
    except OSError:
        return []


def end_orphan(data: Path) -> None:
    """End a server whose parent process was killed: by a fast shutdown, then by force. Only the holder of the folder's
    lock may call this.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        pid = live_postmaster(data)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + _PATIENCE_S
        while live_postmaster(data) == pid and time.monotonic() < deadline:
            time.sleep(0.02)
