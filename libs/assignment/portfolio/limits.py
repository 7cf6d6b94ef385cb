"""How long and how hard a portfolio may try."""

from __future__ import annotations

import math
from dataclasses import dataclass

from libs.assignment.errors import BadValues


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
