"""Where counts stand: servers that no term tells apart are one place, and a plan says how many of each go where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.assignment.model.lowered import Lowered
from libs.domain.arrays import Floats
from libs.domain.fleet import FleetSnapshot
from libs.ras.statement import Statement

Counts = NDArray[np.int64]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """K places, each of lasting servers of one hardware type in one MSB.

    of    (S,) int      the place of each server; -1: not in the problem
    msb   (K,) int
    rru   (R, K) RRU    V of a server of the place
    held  (R, K) int    servers that the present targets bind
    """

    of: Index
    msb: Index
    rru: Floats
    held: Counts
    _lowered: Lowered

    def wanted(self, counts: Counts) -> Counts:
        """(R, K) servers of each place that the counts (Q,) of the lowered problem bind to each reservation."""
        R, K = self.rru.shape
        wanted = np.zeros((R + 1, K), np.int64)
        wanted[self._lowered.container, self._lowered.kind] = counts
        return wanted[:R]


def places_of(snapshot: FleetSnapshot, statement: Statement, lowered: Lowered) -> Places:
    """The classes of the lowered problem are the places."""
    of = np.full(len(snapshot.servers), -1, np.intp)
    of[statement.rows] = lowered.classes.of
    example = statement.rows[lowered.classes.representative]
    bare = Places(
        of=of,
        msb=snapshot.server_msb[example].astype(np.intp),
        rru=snapshot.reservations.rru[:, snapshot.servers.hardware_type[example]],
        held=np.zeros((len(snapshot.reservations), len(example)), np.int64),
        _lowered=lowered,
    )
    return Places(of=of, msb=bare.msb, rru=bare.rru, held=bare.wanted(lowered.held), _lowered=lowered)
