"""The changes that a plan asks for, with the present state of their servers. The decision which changes to commit reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.loss_axis import LossAxis

NONE = -1
"""Index in `source`, `to` and `current` that stands for no reservation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TouchedReservations:
    """The Q touched reservations, as they are now. A plan touches a reservation if it takes a server from the
    reservation or gives one to it. There are M MSBs, and P domains that can be lost.

    axis                            the P domains, and the losses that each reservation is to survive
    load               (Q, P) RRU   RRU of the servers that target the reservation, are up and are not leaving
                                    (`counts`)
    load_there         (Q, P) RRU   part of `load` in servers that are already bound to their target
    msb_datacenter     (M,) int
    msb_limit_rru      (Q,) RRU     the most in one MSB, a hard limit; inf: no limit
    penalty_weight     (Q,) float   factor on the penalty of one RRU, as of the plan's snapshot
    row                (Q,) int     row in the plan's snapshot
    The other columns are those of libs.domain.reservation_rows.Reservations.
    """

    id: Ints
    row: NDArray[np.intp]
    name: Names
    capacity_rru: Floats
    axis: LossAxis
    penalty_weight: Floats
    affinity_share: Floats
    msb_limit_rru: Floats
    load: Floats
    load_there: Floats
    msb_datacenter: Indices

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitedDomains:
    """A kind of domain for which a touched reservation has hard limits, with what the Q touched ones hold by target.

    There are N domains; the last column is for servers without a place. Servers that plans may not count on count for
    nothing.

    placed                     N, without the last column
    domains_max                (Q,) float      most domains; inf: no limit
    servers_max, rru_max       (Q,) float      most servers and RRU in one domain
    servers, load              (Q, N + 1)      servers and RRU by target
    of                         (changes,) int  the domain of the server of each change
    counts                     (changes,) bool whether the server counts
    """

    kind: str
    placed: int
    domains_max: Floats
    servers_max: Floats
    rru_max: Floats
    servers: Ints
    load: Floats
    of: Indices
    counts: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanChanges:
    """N changes of targets that a plan asks for, one row per server. They are read while the plan's commit holds its
    locks. A plan touches a reservation if it takes a server from the reservation or gives one to it.

    row          (N,) int    row of the server in the plan's snapshot
    source, to   (N,) int    reservation that loses the server, and reservation that gains it: index into `touched`, or
                             NONE
    current      (N,) int    reservation that the server is bound to now: index into `touched`; NONE also if the plan
                             does not touch it
    domain       (N, M L) int  columns of the server on the axis of `touched`; the first is its MSB
    changed      (N,) bool   the server changed since the snapshot, or its new reservation was deleted
    leaving      (N,) bool   the server's retirement is announced
    source_rru   (N,) RRU    RRU that the source loses; 0 for a server that is down or leaving
    to_rru       (N,) RRU    RRU that the destination gains; 0 also for a hardware type that is worth nothing to the
                             destination, and in a datacenter that it does not allow
    source_more, to_more   (N, M - 1) RRU   the same in each further measure of the axis. None: there is none
    limited      the kinds of domain for which a touched reservation has hard limits
    """

    row: NDArray[np.intp]
    source: Indices
    to: Indices
    current: Indices
    domain: Indices
    changed: Bools
    leaving: Bools
    source_rru: Floats
    to_rru: Floats
    touched: TouchedReservations
    limited: tuple[LimitedDomains, ...] = ()
    source_more: Floats | None = None
    to_more: Floats | None = None

    @property
    def source_values(self) -> Floats:
        """Return the values (N, M L) at the columns of each server that the source loses."""
        return self._values(self.source_rru, self.source_more)

    @property
    def to_values(self) -> Floats:
        """Return the values (N, M L) at the columns of each server that the destination gains."""
        return self._values(self.to_rru, self.to_more)

    def _values(self, rru: Floats, more: Floats | None) -> Floats:
        return self.touched.axis.values_of(rru[:, None] if more is None else np.column_stack([rru, more]))

    def __len__(self) -> int:
        return len(self.row)
