"""The clock of all decisions. It is injected everywhere, so that a simulated day can pass in minutes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """A clock: it gives the time, and lets a caller wait."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""

    def sleep(self, duration_s: float) -> None:
        """Wait for `duration_s` seconds of this clock."""


class SystemClock:
    """Real time."""

    def now(self) -> datetime:
        """Return the time of the system."""
        return datetime.now(UTC)

    def sleep(self, duration_s: float) -> None:
        """Wait in real time."""
        time.sleep(duration_s)


@dataclass(frozen=True, slots=True)
class ScaledClock:
    """A clock that runs `speed` times as fast as the system's clock. It read `origin` at the system's time
    `real_origin`.

    The clock has no state, so processes with the same three values agree on the time.
    """

    origin: datetime
    real_origin: datetime
    speed: float

    def now(self) -> datetime:
        """Return the scaled time."""
        return self.origin + timedelta(seconds=(datetime.now(UTC) - self.real_origin).total_seconds() * self.speed)

    def sleep(self, duration_s: float) -> None:
        """Wait until `duration_s` seconds of this clock have passed."""
        time.sleep(duration_s / self.speed)
