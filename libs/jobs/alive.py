"""A file that a process touches from its own loop, for a probe that looks at the file's age.

A worker and the scheduler serve no HTTP. The file says that the loop turns. It says nothing about the database or the
queue, because a restart of the process would mend neither.
"""

from __future__ import annotations

import time
from pathlib import Path

ALIVE_S = 5.0
"""Seconds between two touches."""


class AliveFile:
    """The file `path`, or none."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._touch_at = 0.0

    def touch(self) -> None:
        """Set the file's time to now, unless that was done less than ALIVE_S ago. Raises OSError."""
        now = time.monotonic()
        if self._path is not None and now >= self._touch_at:
            self._path.touch()
            self._touch_at = now + ALIVE_S
