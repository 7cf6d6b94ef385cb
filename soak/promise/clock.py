"""A clock that stands still until it is told to go on, so that a month of the platform needs no waiting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta


class SteppedClock:
    """Simulated time. `sleep` passes the wait to `pass_time`, which calls `set` with later times."""

    def __init__(self, begins: datetime) -> None:
        self.begins = begins
        self.pass_time: Callable[[float], None] = self.skip
        self._now = begins

    def now(self) -> datetime:
        """Return the simulated time."""
        return self._now

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return (self._now - self.begins).total_seconds()

    def skip(self, duration_s: float) -> None:
        """Go on by `duration_s` seconds at once, and by at least a microsecond, the least step of a time."""
        self._now += max(timedelta(seconds=duration_s), timedelta(microseconds=1))

    def sleep(self, duration_s: float) -> None:
        """Let `duration_s` seconds pass."""
        self.pass_time(duration_s)
