"""Who calls whom: a sum for each pair of services that was seen, since few of all pairs ever are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.fleet import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calls:
    """E pairs, each once, in order of caller and callee.

    caller, callee  (E,)  numbers of services
    count           (E,)  calls seen from the one to the other
    """

    caller: Ints
    callee: Ints
    count: Floats

    @classmethod
    def summed(cls, caller: Ints, callee: Ints, count: Floats) -> Calls:
        """Pairs in any order, which may repeat."""
        width = int(callee.max(initial=0)) + 1
        pair, row = np.unique(caller.astype(np.int64) * width + callee, return_inverse=True)
        total = np.bincount(row, count, len(pair)).astype(np.float64)
        return cls(caller=pair // width, callee=pair % width, count=total)

    @classmethod
    def none(cls) -> Calls:
        """No calls at all."""
        nothing = np.zeros(0, np.int64)
        return cls(caller=nothing, callee=nothing, count=np.zeros(0))

    def plus(self, other: Calls) -> Calls:
        """Of both."""
        return Calls.summed(
            np.concatenate([self.caller, other.caller]),
            np.concatenate([self.callee, other.callee]),
            np.concatenate([self.count, other.count]),
        )

    def of_services(self, rows: Ints) -> Calls:
        """Among these services only, each by its place in `rows`."""
        place = np.full(max(int(rows.max(initial=-1)), self._highest()) + 1, -1, np.int64)
        known = rows >= 0
        place[rows[known]] = np.flatnonzero(known)
        caller, callee = place[self.caller], place[self.callee]
        both = (caller >= 0) & (callee >= 0)
        return Calls.summed(caller[both], callee[both], self.count[both])

    def between(self, caller: int, callee: int) -> float:
        """Calls from one to another."""
        return float(self.count[(self.caller == caller) & (self.callee == callee)].sum())

    def _highest(self) -> int:
        return int(max(self.caller.max(initial=-1), self.callee.max(initial=-1)))
