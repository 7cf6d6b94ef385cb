"""Hold the clock of a solve, which all of its parts share. The outermost solver makes it, and passes it to the solvers
that it calls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The end of a solve. The time for choosing, compiling and solving counts.

    began       time.perf_counter() at the call of the outermost solver
    time_s_max  seconds from then on
    """

    began: float
    time_s_max: float

    @classmethod
    def after(cls, time_s_max: float) -> Deadline:
        """Return a deadline that ends `time_s_max` seconds from now."""
        return cls(began=time.perf_counter(), time_s_max=time_s_max)

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the solve began."""
        return time.perf_counter() - self.began

    @property
    def left_s(self) -> float:
        """Return the seconds left; 0 when the time is up."""
        return max(self.time_s_max - self.elapsed_s, 0.0)
