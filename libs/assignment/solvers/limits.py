"""When a solve stops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from libs.assignment.errors import BadValues

AUTO_S_MAX = 60.0
"""Seconds that solve_auto takes at most where its caller gives no limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Work and time. The same problem, seed and tries_max give the same answer on any machine with the same
    versions of NumPy and SciPy when no time limit was hit.

    tries_max   changes that are evaluated (a sweep ends with the object at hand); None: as many as there is time
                for, cooling down by the clock
    time_s_max  seconds of wall clock: choosing, compiling and solving. Without limits `auto` takes AUTO_S_MAX, and the
                others end by the work that they count
    threads     walks side by side; the answer depends on how many there are

    first_improving  in a descent an object goes to the first container found that is better, not to the best one:
                     sooner done where there are many containers (Rebalancer's SINGLE_GREEDY)
    """

    tries_max: int | None = 20_000_000
    time_s_max: float = math.inf
    threads: int = 1
    first_improving: bool = False

    def __post_init__(self) -> None:
        """Both must leave room for something."""
        if self.threads < 1:
            raise BadValues(f"threads = {self.threads}; expected 1 or more")
        if self.tries_max is None and self.time_s_max == math.inf:
            raise BadValues("tries_max = None needs a time_s_max")
        if self.tries_max is not None and self.tries_max < 1:
            raise BadValues(f"tries_max = {self.tries_max}; expected 1 or more")
        if not self.time_s_max > 0:
            raise BadValues(f"time_s_max = {self.time_s_max}; expected seconds above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class MipLimits:
    """When branch and bound stops. Nodes are counted per priority; the same number gives the same answer on any machine
    when no time limit was hit.

    time_s_max    seconds of wall clock, the building of the model included; what is left is shared by the priorities
    nodes_max     nodes of the tree, each priority
    relative_gap  of answer and bound at which an answer is good enough
    """

    time_s_max: float = math.inf
    nodes_max: int | None = None
    relative_gap: float = 1e-4

    def __post_init__(self) -> None:
        """All must make sense."""
        if not self.time_s_max > 0:
            raise BadValues(f"time_s_max = {self.time_s_max}; expected seconds above 0")
        if self.nodes_max is not None and self.nodes_max < 0:
            raise BadValues(f"nodes_max = {self.nodes_max}; expected 0 or more")
        if not self.relative_gap >= 0:
            raise BadValues(f"relative_gap = {self.relative_gap}; expected 0 or more")


class StoppedBy(StrEnum):
    """Why a solve ended."""

    WORK = "work"
    """All tries are used up."""
    TIME = "time"
    """The clock; on another machine the answer may differ."""
    DONE = "done"
    """It came to the end of what it does, which no limit cut short."""
    LOCAL = "local"
    """No single move and no swap of two improves it, and searching again from elsewhere found nothing better."""
    OPTIMAL = "optimal"
    """No goal has anything left to gain."""
    CANCELLED = "cancelled"
    """The caller."""
