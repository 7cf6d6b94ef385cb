"""Counts of calls between services, stored sparsely: most pairs of services never call each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calls:
    """Numbers of calls for E pairs of services. Each pair occurs once. The pairs are sorted by caller, then callee.

    caller, callee  (E,) int    numbers of services
    count           (E,) float  calls from the caller to the callee
    """

    caller: Ints
    callee: Ints
    count: Floats

    @classmethod
    def summed(cls, caller: Ints, callee: Ints, count: Floats) -> Calls:
        """Return the total number of calls for each pair. The pairs in the arguments may come in any order, and may
        repeat.
        """
        width = int(callee.max(initial=0)) + 1
        pair, row = np.unique(caller.astype(np.int64) * width + callee, return_inverse=True)
        total = np.bincount(row, count, len(pair)).astype(np.float64)
        return cls(caller=pair // width, callee=pair % width, count=total)

    @classmethod
    def none(cls) -> Calls:
        """Return a table without calls."""
        nothing = np.zeros(0, np.int64)
        return cls(caller=nothing, callee=nothing, count=np.zeros(0))

    def plus(self, other: Calls) -> Calls:
        """Return the sum of this table and `other`."""
        return Calls.summed(
            np.concatenate([self.caller, other.caller]),
            np.concatenate([self.callee, other.callee]),
            np.concatenate([self.count, other.count]),
        )

    def of_services(self, rows: Ints) -> Calls:
        """Return the calls between services in `rows`.

        rows   (N,) int   numbers of services; -1: none. A service gets its index in `rows` as its new number.
        """
        place = np.full(max(int(rows.max(initial=-1)), self._highest()) + 1, -1, np.int64)
        known = rows >= 0
        place[rows[known]] = np.flatnonzero(known)
        caller, callee = place[self.caller], place[self.callee]
        both = (caller >= 0) & (callee >= 0)
        return Calls.summed(caller[both], callee[both], self.count[both])

    def between(self, caller: int, callee: int) -> float:
        """Return the number of calls from one service to another."""
        return float(self.count[(self.caller == caller) & (self.callee == callee)].sum())

    def _highest(self) -> int:
        return int(max(self.caller.max(initial=-1), self.callee.max(initial=-1)))
