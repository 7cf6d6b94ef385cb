"""What each solver makes of the limits of its caller: internal records, one for each kind of work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from libs.assignment.language.errors import BadValues
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.limits import PARTS_LIMIT

POLISH = 0.2
"""The share of tries and time that is kept for the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Settings of a local search. The same problem, seed and tries_max give the same answer on any machine with the
    same versions of NumPy and SciPy when no time limit was hit.

    tries_max   changes that are evaluated (a sweep ends with the object at hand); None: as many as there is time
                for, cooling down by the clock
    time_s_max  seconds of wall clock: choosing, compiling and solving
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
            raise BadValues("limits: tries_max = math.inf needs a time_s_max")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """How a problem is cut.

    parts     how many
    how       the way in which containers come to their part
    split     containers that are in every part, by name or number; None: those too large for one part
    together  a scope whose items are not cut
    workers   how many parts the executor solves at once: what time there is, is shared out by it
    polish    of tries and time, the share for a local search over the whole at the end; 0: none
    insist    cut it even where the test says that it is not granular
    """

    parts: int = 4
    how: Deal = Deal.BY_ATTRIBUTE
    split: Sequence[str | int] | None = None
    together: str | None = None
    workers: int = 1
    polish: float = POLISH
    insist: bool = False

    def __post_init__(self) -> None:
        """Numbers that make sense."""
        if not 1 <= self.parts <= PARTS_LIMIT:
            raise BadValues(f"parts = {self.parts}; expected 1 to {PARTS_LIMIT}")
        if not 0 <= self.polish < 1:
            raise BadValues(f"polish = {self.polish}; expected a share from 0 to below 1")
        if self.workers < 1:
            raise BadValues(f"workers = {self.workers}; expected 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioLimits:
    """When a solve stops. Where its time was not up, the same input and seed give the same answer on any machine.

    time_s_max          seconds of the whole call; what it was doing then is dropped, the best plan so far is kept;
                        0: the start is the answer
    neighbourhoods_max  neighbourhoods tried; None: twice as many as there are containers, at least 30
    stall               stop once this many in a row gained less than stall_gain of the bound together;
                        None: 12, or a 25th of the containers if that is more
    stall_gain          fraction of the lower bound
    exact_columns_max   problems of at most so many count columns are solved as one, exactly
    exact_nodes_max     nodes of branch and bound for that
    exact_gap           relative gap at which that counts as solved
    """

    time_s_max: float = math.inf
    neighbourhoods_max: int | None = None
    stall: int | None = None
    stall_gain: float = 2e-4
    exact_columns_max: int = 200
    exact_nodes_max: int = 500
    exact_gap: float = 1e-5

    def __post_init__(self) -> None:
        """All must make sense."""
        whole = ("neighbourhoods_max", "exact_columns_max", "exact_nodes_max")
        least = dict.fromkeys((*whole, "time_s_max", "stall_gain", "exact_gap"), 0) | {"stall": 1}
        for field, at_least in least.items():
            value = getattr(self, field)
            if value is not None and not value >= at_least:
                raise BadValues(f"{field} = {value}; expected {at_least} or more")
