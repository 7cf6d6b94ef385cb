"""Define who observes a running solve of a portfolio, and may end it."""

from __future__ import annotations

import time
from typing import Protocol

from libs.assignment.language.arrays import Floats


class Watch(Protocol):
    """The observer of a running solve, which may end it."""

    def stop(self) -> bool:
        """Return whether the solve must end now."""

    def time_left(self) -> float:
        """Return the seconds left, inf without a limit."""

    def note(self, *, timed_out: bool) -> None:
        """Record that the clock or the caller stopped a solver."""

    def found(self, point: Floats, bound: float) -> None:
        """Receive the best point (C,) so far, and a lower bound of the objective; `bound` is -inf without a bound."""


class Clock:
    """A watch that ends a solve by time alone."""

    def __init__(self, time_s_max: float) -> None:
        self.until = time.perf_counter() + time_s_max
        self.timed_out = False

    def stop(self) -> bool:
        """Return whether the time is up."""
        self.timed_out |= self.time_left() <= 0
        return self.timed_out

    def time_left(self) -> float:
        """Return the seconds left."""
        return self.until - time.perf_counter()

    def note(self, *, timed_out: bool) -> None:
        """Record that a solver was stopped."""
        self.timed_out |= timed_out

    def found(self, point: Floats, bound: float) -> None:
        """Ignore the point: there is no listener."""
