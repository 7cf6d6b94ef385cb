"""The capacity that a reservation holds now. libs.ras.waves.guard reads it to decide which servers may leave."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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

    resource   its name
    holdings   of the reservations that ask for it
    shares     (reservation id, hardware type id) -> worth of one server; absent: it gives nothing of the resource
    units      reservation id -> units of the resource for each RRU of the promise; absent: 1
    """

    resource: str
    holdings: tuple[Holding, ...]
    shares: Mapping[tuple[int, int], float]
    units: Mapping[int, float] = field(default_factory=dict)

    def share(self, reservation_id: int, hardware_type_id: int) -> float:
        """Return the worth of one server of a hardware type for a reservation."""
        return self.shares.get((reservation_id, hardware_type_id), 0.0)


class Lack(NamedTuple):
    """The most that a reservation would lack if one server left it, in the measure and after the loss in which that is.

    rru        RRU that it would lack; of a resource, the share of its promise
    keeps_rru  RRU that it must keep, likewise
    kind       place of the kind of loss in `Holding.survives`; None: it lacks that while all domains are up
    resource   the measure; None: RRU
    units      units of the resource for each RRU
    """

    rru: float
    keeps_rru: float
    kind: int | None = None
    resource: str | None = None
    units: float = 1.0
