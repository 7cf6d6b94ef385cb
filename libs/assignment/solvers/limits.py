"""When a solve stops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from libs.assignment.errors import BadValues


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Work and time. The same problem, seed and tries_max give the same answer on any machine when no time limit
    was hit.

    tries_max   changes that are evaluated (a sweep ends with the object at hand); None: as many as there is time
                for, cooling down by the clock
    time_s_max  seconds of wall clock, the building of the graph included
    """

    tries_max: int | None = 20_000_000
    time_s_max: float = math.inf

    def __post_init__(self) -> None:
        """Both must leave room for something."""
        if self.tries_max is None and self.time_s_max == math.inf:
            raise BadValues("tries_max = None needs a time_s_max")
        if self.tries_max is not None and self.tries_max < 1:
            raise BadValues(f"tries_max = {self.tries_max}; expected 1 or more")
        if not self.time_s_max > 0:
            raise BadValues(f"time_s_max = {self.time_s_max}; expected seconds above 0")


class StoppedBy(StrEnum):
    """Why a solve ended."""

    WORK = "work"
    """All tries are used up."""
    TIME = "time"
    """The clock; on another machine the answer may differ."""
    DONE = "done"
    """It came to the end of what it does, which no limit cut short."""
    OPTIMAL = "optimal"
    """No goal has anything left to gain."""
