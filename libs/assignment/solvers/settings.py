"""Define the internal settings of each kind of solver, made from the caller's limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from libs.assignment.language.errors import BadValues
from libs.assignment.solvers.deal import Deal
from libs.assignment.solvers.limits import PARTS_LIMIT

POLISH = 0.2
"""Share of tries and time for the final local search over the whole problem, after the parts are solved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """Settings of a local search.

    Without a time limit, the same problem, seed and tries_max give the same answer on any machine. The versions of
    NumPy and SciPy must be the same.

    tries_max   number of changes to evaluate (the last object of a sweep is finished); None: no limit, so the search
                ends when the time is up, and cools by the clock
    time_s_max  seconds of wall clock for choosing a solver, compiling and solving
    threads     number of walks, which are searches in parallel threads; the answer depends on the number

    first_improving  whether an object moves in a descent to the first better container found, and not to the best
                     container. That is faster with many containers (Rebalancer's SINGLE_GREEDY)
    """

    tries_max: int | None = 20_000_000
    time_s_max: float = math.inf
    threads: int = 1
    first_improving: bool = False

    def __post_init__(self) -> None:
        """Raise BadValues if `threads`, `tries_max` or `time_s_max` is out of range.

        Raise it also if neither `tries_max` nor `time_s_max` limits the search, so that it would run forever.
        """
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

    Nodes are counted per priority. The same `nodes_max` gives the same answer on any machine, unless a time limit was
    hit.

    time_s_max    seconds of wall clock for building the model and solving; the priorities share the time for solving
    nodes_max     most nodes of the tree of each priority; None: no limit
    relative_gap  gap between answer and bound, as a share of the value, at which the answer is good enough
    """

    time_s_max: float = math.inf
    nodes_max: int | None = None
    relative_gap: float = 1e-4

    def __post_init__(self) -> None:
        """Raise BadValues if `time_s_max`, `nodes_max` or `relative_gap` is out of its range."""
        if not self.time_s_max > 0:
            raise BadValues(f"time_s_max = {self.time_s_max}; expected seconds above 0")
        if self.nodes_max is not None and self.nodes_max < 0:
            raise BadValues(f"nodes_max = {self.nodes_max}; expected 0 or more")
        if not self.relative_gap >= 0:
            raise BadValues(f"relative_gap = {self.relative_gap}; expected 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """The way to cut a problem into parts.

    parts     number of parts
    how       the way to distribute containers to parts
    split     containers that are in every part, by name or number; None: containers in which nothing counts, and
              containers too large for one part
    together  name of a scope whose items are not cut: all containers of an item go to the same part
    workers   number of parts that the executor solves at once; the parts share the time
    polish    share of tries and time for a final local search over the whole problem; 0: no such search
    insist    whether to cut the problem even if the test finds that parts would lose too much (not granular)
    """

    parts: int = 4
    how: Deal = Deal.BY_ATTRIBUTE
    split: Sequence[str | int] | None = None
    together: str | None = None
    workers: int = 1
    polish: float = POLISH
    insist: bool = False

    def __post_init__(self) -> None:
        """Raise BadValues if `parts`, `polish` or `workers` is out of its range."""
        if not 1 <= self.parts <= PARTS_LIMIT:
            raise BadValues(f"parts = {self.parts}; expected 1 to {PARTS_LIMIT}")
        if not 0 <= self.polish < 1:
            raise BadValues(f"polish = {self.polish}; expected a share from 0 to below 1")
        if self.workers < 1:
            raise BadValues(f"workers = {self.workers}; expected 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioLimits:
    """Limits of a portfolio. Unless time ran out, the same input and seed give the same answer on any machine.

    A neighbourhood is a small set of containers that is solved while all others stay. A count is the number of objects
    of one class in one container.

    time_s_max          seconds of the whole call; unfinished work is then dropped, and the best plan so far is kept;
                        0: the start is the answer
    neighbourhoods_max  most neighbourhoods to try; None: twice the number of containers, at least 30
    stall               number of neighbourhoods: the search stops if so many in a row together gain less than
                        `stall_gain` of the bound, or if none is expected to gain its share of that; None: 8, or 30
                        with at most 5,000 counts, or a 25th of the containers if that is more
    stall_gain          gain below which the search stops, as a share of the lower bound: see `stall`
    near_gap            gap at which steps are enough, if few objects move from an assignment that was near the bound
                        already. Neighbourhoods then wait for the bound; up to `exact_gap`: they do not
    exact_columns_max   a problem with at most this many counts is solved as a whole by branch and bound. Unless it is 0
                        or `neighbourhoods_max` is given, one of up to 1,000 counts is too, after a search without
                        proof. For a priority before the last one it is 5,000 counts
    exact_nodes_max     most nodes of that branch and bound
    exact_gap           relative gap at which a problem counts as solved
    whole_bound         whether trees of single containers raise the bound by whole objects
    """

    time_s_max: float = math.inf
    neighbourhoods_max: int | None = None
    stall: int | None = None
    stall_gain: float = 2e-4
    near_gap: float = 0.0
    exact_columns_max: int = 200
    exact_nodes_max: int = 500
    exact_gap: float = 1e-5
    whole_bound: bool = True

    def __post_init__(self) -> None:
        """Raise BadValues if a number is below its least value: 1 for `stall`, and 0 for all other limits."""
        whole = ("neighbourhoods_max", "exact_columns_max", "exact_nodes_max")
        least = dict.fromkeys((*whole, "time_s_max", "stall_gain", "near_gap", "exact_gap"), 0) | {"stall": 1}
        for field, at_least in least.items():
            value = getattr(self, field)
            if value is not None and not value >= at_least:
                raise BadValues(f"{field} = {value}; expected {at_least} or more")
