"""Bound work by cancellation too, not only by tries and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from libs.assignment.solvers.local.sweeps import UNLIMITED, Work


@dataclass(slots=True, kw_only=True)
class Stoppable(Work):
    """Work whose parts all end once `cancelled` returns True."""

    cancelled: Callable[[], bool]

    @property
    def left(self) -> bool:
        """Return whether any work is left."""
        return self.tries > 0 and time.perf_counter() < self.until_s and not self.cancelled()

    def part(self, of_tries: float, of_time: float = 1.0) -> Stoppable:
        """Return a share of the tries and of the time. Tries spent on it count for the whole."""
        return self.share(self.tries if self.tries == UNLIMITED else int(self.tries * of_tries), self.ends(of_time))

    def share(self, tries: int, until_s: float) -> Stoppable:
        """Return part of this work: a number of tries, until a value of time.perf_counter()."""
        return Stoppable(tries, until_s, self, timed=self.timed, cancelled=self.cancelled)
