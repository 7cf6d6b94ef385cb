"""Tell how long the command has run. Its time limits count from the start of its process."""

from __future__ import annotations

import os
import time
from contextvars import ContextVar
from pathlib import Path

_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)
_STARTED_AT = 19
"""Place of the start in /proc/self/stat, behind the name of the command. It counts ticks since the machine started."""


def count_from(began: float) -> None:
    """Count the seconds of the command from `began`, a time of time.perf_counter."""
    _BEGAN.set(began)


def elapsed_s() -> float:
    """Return the seconds since `count_from`; 0 if nothing counts."""
    began = _BEGAN.get()
    return 0.0 if began is None else time.perf_counter() - began


def process_began() -> float:
    """Return when this process began, as a time of time.perf_counter; now, where the system does not tell."""
    now = time.perf_counter()
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        since_boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, AttributeError):
        return now
    return now - max(since_boot - int(fields[_STARTED_AT]) / os.sysconf("SC_CLK_TCK"), 0.0)
