"""The limits on power that the changes of a plan must respect, as they are while its commit holds its locks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from libs.domain.arrays import Bools, Floats, Indices
from libs.domain.plan_changes import NONE
from libs.domain.power import ROUNDING_W


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PowerBounds:
    """The power of N changes of a plan, below L limits of K kinds of domain.

    name    (L,) str      the kind and the name of each domain, such as "power_row row-3"
    limit   (N, K) int    limits that the server of each change stands below; NONE: none of this kind
    gain_w  (N,) W        W that the change adds; 0 if the server counts in full already, or is freed
    room_w  (L,) W        W that changes may add
    """

    name: tuple[str, ...]
    limit: Indices
    gain_w: Floats
    room_w: Floats

    def added_w(self, kept: Bools) -> Floats:
        """Return the W that the `kept` (N,) changes add below each limit, (L,)."""
        added = np.zeros(len(self.name))
        rows = np.flatnonzero(kept)
        for column in self.limit[rows].T:
            inside = column != NONE
            np.add.at(added, column[inside], self.gain_w[rows][inside])
        return added

    def beyond(self, kept: Bools) -> Bools:
        """Return a mask of the limits that the `kept` (N,) changes exceed, (L,)."""
        return np.asarray(self.added_w(kept) > np.maximum(self.room_w, 0.0) + ROUNDING_W)


def no_power_bounds(changes: int) -> PowerBounds:
    """Return the bounds of a region without limits."""
    return PowerBounds(name=(), limit=np.zeros((changes, 0), np.int32), gain_w=np.zeros(changes), room_w=np.zeros(0))
