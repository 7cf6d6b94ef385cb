"""The time that decisions are made by. It is injected everywhere, so that a simulated day can pass in minutes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What time it is, and how to wait for a while of it."""

    def now(self) -> datetime:
        """The present moment, in UTC."""

    def sleep(self, duration_s: float) -> None:
        """Wait for so many seconds of this clock."""


class SystemClock:
    """Real time."""

    def now(self) -> datetime:
        """The system's time."""
        return datetime.now(UTC)

    def sleep(self, duration_s: float) -> None:
        """Really wait."""
        time.sleep(duration_s)


@dataclass(frozen=True, slots=True)
class ScaledClock:
    """Time that passes `speed` times as fast as the system's since `real_origin`, when it read `origin`.

    It has no state of its own: processes that are given the same three values agree on the time.
    """

    origin: datetime
    real_origin: datetime
    speed: float

    def now(self) -> datetime:
        """The scaled time."""
        return self.origin + timedelta(seconds=(datetime.now(UTC) - self.real_origin).total_seconds() * self.speed)

    def sleep(self, duration_s: float) -> None:
        """Wait for the real time that `duration_s` of this clock take."""
        time.sleep(duration_s / self.speed)
