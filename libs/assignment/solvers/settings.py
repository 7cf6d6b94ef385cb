"""Define the internal settings of each kind of solver, made from the caller's limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from libs.assignment.language.errors import BadValues
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.limits import PARTS_LIMIT

POLISH = 0.2
"""Share of tries and time for the final search over the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Settings of a local search.

    Without a time limit, the same problem, seed and tries_max give the same answer on any machine. The versions of
    NumPy and SciPy must be the same.

    tries_max   changes to evaluate (a sweep finishes its present object); None: until the time is up, cooling by the
                clock
    time_s_max  seconds of wall clock: choosing, compiling and solving
    threads     parallel walks; the answer depends on their number

    first_improving  in a descent an object moves to the first better container found, not to the best: faster with
                     many containers (Rebalancer's SINGLE_GREEDY)
    """

    tries_max: int | None = 20_000_000
    time_s_max: float = math.inf
    threads: int = 1
    first_improving: bool = False

    def __post_init__(self) -> None:
        """Check that both limits leave room for some work."""
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
    """Limits of branch and bound.

    Nodes are counted per priority. The same number gives the same answer on any machine, unless a time limit was hit.

    time_s_max    seconds of wall clock, with the building of the model; the priorities share the rest
    nodes_max     nodes of the tree per priority
    relative_gap  gap between answer and bound that is good enough
    """

    time_s_max: float = math.inf
    nodes_max: int | None = None
    relative_gap: float = 1e-4

    def __post_init__(self) -> None:
        """Check the ranges of numbers."""
        if not self.time_s_max > 0:
            raise BadValues(f"time_s_max = {self.time_s_max}; expected seconds above 0")
        if self.nodes_max is not None and self.nodes_max < 0:
            raise BadValues(f"nodes_max = {self.nodes_max}; expected 0 or more")
        if not self.relative_gap >= 0:
            raise BadValues(f"relative_gap = {self.relative_gap}; expected 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """The way to cut a problem.

    parts     number of parts
    how       the way to distribute containers to parts
    split     containers that are in every part, by name or number; None: those too large for one part
    together  a scope whose items are not cut
    workers   parts that the executor solves at once; they share the time
    polish    share of tries and time for a final local search over the whole; 0: none
    insist    cut the problem even if the test finds it not granular
    """

    parts: int = 4
    how: Deal = Deal.BY_ATTRIBUTE
    split: Sequence[str | int] | None = None
    together: str | None = None
    workers: int = 1
    polish: float = POLISH
    insist: bool = False

    def __post_init__(self) -> None:
        """Check the ranges of numbers."""
        if not 1 <= self.parts <= PARTS_LIMIT:
            raise BadValues(f"parts = {self.parts}; expected 1 to {PARTS_LIMIT}")
        if not 0 <= self.polish < 1:
            raise BadValues(f"polish = {self.polish}; expected a share from 0 to below 1")
        if self.workers < 1:
            raise BadValues(f"workers = {self.workers}; expected 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioLimits:
    """Limits of a portfolio. Unless time ran out, the same input and seed give the same answer on any machine.

    time_s_max          seconds of the whole call; unfinished work is then dropped, and the best plan so far is kept;
                        0: the start is the answer
    neighbourhoods_max  neighbourhoods to try; None: twice the number of containers, at least 30
    stall               stop once this many in a row gained less than stall_gain of the bound together;
                        None: 12, or a 25th of the containers if that is more
    stall_gain          fraction of the lower bound
    exact_columns_max   problems with at most this many count columns are solved as one, exactly
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
        """Check the ranges of numbers."""
        whole = ("neighbourhoods_max", "exact_columns_max", "exact_nodes_max")
        least = dict.fromkeys((*whole, "time_s_max", "stall_gain", "exact_gap"), 0) | {"stall": 1}
        for field, at_least in least.items():
            value = getattr(self, field)
            if value is not None and not value >= at_least:
                raise BadValues(f"{field} = {value}; expected {at_least} or more")
