"""The clock of a process, read from the environment."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import AwareDatetime, Field

from libs.reconcile.clock import Clock, ScaledClock, SystemClock
from libs.reconcile.environment import Settings


class ClockSettings(Settings):
    """Real time, unless a speed other than 1 is set. Then every process needs the same two origins."""

    clock_speed: float = Field(default=1.0, gt=0, le=100_000, validation_alias="PLIMSOLL_CLOCK_SPEED")
    clock_origin: AwareDatetime = Field(
        default=datetime(1970, 1, 1, tzinfo=UTC), validation_alias="PLIMSOLL_CLOCK_ORIGIN"
    )
    clock_real_origin: AwareDatetime = Field(
        default=datetime(1970, 1, 1, tzinfo=UTC), validation_alias="PLIMSOLL_CLOCK_REAL_ORIGIN"
    )

    @staticmethod
    def environment(clock: Clock) -> dict[str, str]:
        """Return the environment that gives another process this clock."""
        if not isinstance(clock, ScaledClock):
            return {}
        return {
            "PLIMSOLL_CLOCK_SPEED": str(clock.speed),
            "PLIMSOLL_CLOCK_ORIGIN": clock.origin.isoformat(),
            "PLIMSOLL_CLOCK_REAL_ORIGIN": clock.real_origin.isoformat(),
        }

    def clock(self) -> Clock:
        """Return the clock that these settings describe."""
        if self.clock_speed == 1.0 and self.clock_origin == self.clock_real_origin:
            return SystemClock()
        return ScaledClock(self.clock_origin, self.clock_real_origin, self.clock_speed)
