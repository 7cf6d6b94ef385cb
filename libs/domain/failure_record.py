"""The record of failures of a region: of its MSBs, and of single servers by hardware type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Ints, Names

YEAR_S = 365 * 86_400.0
RECORD_S_MAX = 90 * 86_400.0
"""Seconds of history that count: what the platform keeps of events that have ended."""
PRIOR = 0.5
"""Failures that the published rate counts as, beside those that were seen."""
MSB_LOSSES_PER_YEAR = 0.02
"""Share of MSBs that fail in a year (RAS, 3.3)."""
MSB_DOWN_S = 2 * 3600.0
"""Mean time until an MSB is back, before any loss was seen. The paper has none: it is that of the simulator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MsbLossRecord:
    """The losses of MSBs that a region has seen.

    msbs        MSBs with servers
    watched_s   seconds of history that count
    losses      unplanned events of scope MSB that began in it
    down_s      seconds that these took, until now for those that go on
    """

    msbs: int
    watched_s: float
    losses: int
    down_s: float

    @property
    def per_s(self) -> float:
        """Return the rate at which one MSB is lost: (n + 1/2) / (M watched + 1/2 of the published mean time)."""
        return (self.losses + PRIOR) / (self.msbs * self.watched_s + PRIOR * YEAR_S / MSB_LOSSES_PER_YEAR)

    @property
    def mean_down_s(self) -> float:
        """Return the mean seconds until an MSB is back."""
        return (self.down_s + PRIOR * MSB_DOWN_S) / (self.losses + PRIOR)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpareRecord:
    """The shared buffers of a region, and the failures of servers of their types. T types with a shared buffer.

    watched_s      seconds of history that count
    hardware_type  (T,) str
    wanted         (T,) int   servers that the buffer is sized for
    usable         (T,) int   servers of the buffer that are up
    down           (T,) int   servers of the type that are down for an unplanned reason, other than with their MSB
    failures       (T,) int   servers of the type that went down in the history, by events of a server or a rack
    down_s         (T,) s     seconds that these were down, until now for those that still are
    ended          (T,) int   of them, those that are up again
    """

    watched_s: float
    hardware_type: Names
    wanted: Floats
    usable: Ints
    down: Ints
    failures: Ints
    down_s: Floats
    ended: Ints

    @property
    def per_s(self) -> Floats:
        """Return the (T,) servers of each type that fail in a second."""
        return np.asarray(self.failures / max(self.watched_s, 1.0))

    @property
    def mean_down_s(self) -> Floats:
        """Return the (T,) mean seconds of a repair: all seconds down per repair that ended; inf if none has."""
        found = np.full(len(self.down_s), np.inf)
        np.divide(self.down_s, self.ended, out=found, where=self.ended > 0)
        return found
