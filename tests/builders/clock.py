"""Provide a clock that the test moves."""

from datetime import UTC, datetime, timedelta


class ManualClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        self._now += timedelta(seconds=duration_s)
