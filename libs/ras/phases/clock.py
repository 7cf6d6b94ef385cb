"""Tell a phase how much of a solve's time is left, and whether the caller wants it to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

LEAST_S = 0.1
"""Seconds below which no further model is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The rest of the time of a solve.

    until      the end, in seconds of time.perf_counter; inf: no limit
    cancelled  returns whether to stop; None: nothing cancels
    """

    until: float = math.inf
    cancelled: Callable[[], bool] | None = None

    @property
    def left_s(self) -> float | None:
        """Return the seconds that are left, at least LEAST_S; None if there is no limit."""
        return None if math.isinf(self.until) else max(self.until - time.perf_counter(), LEAST_S)

    @property
    def stopped_by(self) -> str:
        """Return the reason of `is_over`: "cancelled" or "time"."""
        return "cancelled" if self.cancelled is not None and self.cancelled() else "time"

    def is_over(self) -> bool:
        """Return whether no further model may begin."""
        return self.stopped_by == "cancelled" or self.until - time.perf_counter() < LEAST_S
