"""The capacity that a reservation holds now. libs.ras.waves.guard reads it to decide which servers may leave."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

Place = tuple[int, ...]
"""The domains of a server, one of each kind of loss that is told apart: its MSB first, then further kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A reservation's promise, and its servers that are up, have joined and are not leaving.

    capacity_rru  asked for, and promised as far as it was granted
    survives      for each kind of loss, whether the promise includes the loss of any one domain of it
    held_rru      for each kind of loss: domain -> RRU. Each has every server once
    granted_rru   granted so far. It is less than `capacity_rru` while a request waits
    """

    reservation_id: int
    reservation: str
    capacity_rru: float
    survives: tuple[bool, ...]
    held_rru: tuple[Mapping[int, float], ...]
    granted_rru: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceHoldings:
    """The holdings of one resource that reservations ask for beside RRU, as shares of their promise in RRU.

    holdings   of the reservations that ask for it
    shares     (reservation id, hardware type id) -> worth of one server; absent: it gives nothing of the resource
    """

    holdings: tuple[Holding, ...]
    shares: Mapping[tuple[int, int], float]

    def share(self, reservation_id: int, hardware_type_id: int) -> float:
        """Return the worth of one server of a hardware type for a reservation."""
        return self.shares.get((reservation_id, hardware_type_id), 0.0)
