"""The one clock of a solve: made by the outermost solver, handed down to those that it calls."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """When a solve ends. Choosing, compiling and solving all count.

    began       time.perf_counter() at the call of the outermost solver
    time_s_max  seconds from then on
    """

    began: float
    time_s_max: float

    @classmethod
    def after(cls, time_s_max: float) -> Deadline:
        """Start the clock now."""
        return cls(began=time.perf_counter(), time_s_max=time_s_max)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the solve began."""
        return time.perf_counter() - self.began

    @property
    def left_s(self) -> float:
        """Seconds that are left; 0 when the time is up."""
        return max(self.time_s_max - self.elapsed_s, 0.0)
