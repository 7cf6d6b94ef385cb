"""The changes of a plan as they meet the present region: the input of the decision what to commit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names

NONE = -1
"""In `source` and `to`: no reservation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TouchedReservations:
    """The Q reservations that a plan takes servers from or gives servers to, as they are now. M MSBs, D datacenters.

    load               (Q, M) RRU   of the present targets: servers that are up and not leaving (`counts`)
    load_there         (Q, M) RRU   of those, servers whose current binding is their target
    msb_datacenter     (M,) int
    row                (Q,) int     row in the plan's snapshot
    The other columns are those of libs.domain.fleet.Reservations.
    """

    id: Ints
    row: NDArray[np.intp]
    name: Names
    capacity_rru: Floats
    survives_msb_loss: Bools
    priority: Ints
    affinity_share: Floats
    load: Floats
    load_there: Floats
    msb_datacenter: Indices

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanChanges:
    """N changes of a plan, one row per server, read under the locks of its commit.

    row          (N,) int    row of the server in the plan's snapshot
    source, to   (N,) int    index of a touched reservation, or NONE
    current      (N,) int    likewise, where the server is; NONE also for a reservation that is not touched
    msb          (N,) int
    changed      (N,) bool   the server changed since the snapshot, or its destination is gone
    leaving      (N,) bool   a retirement is announced
    source_rru   (N,) RRU    what the source loses; 0 for a server that is down or leaving
    to_rru       (N,) RRU    what the destination gains; 0 for a useless type too
    """

    row: NDArray[np.intp]
    source: Indices
    to: Indices
    current: Indices
    msb: Indices
    changed: Bools
    leaving: Bools
    source_rru: Floats
    to_rru: Floats
    touched: TouchedReservations

    def __len__(self) -> int:
        return len(self.row)
