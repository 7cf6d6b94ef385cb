"""Group servers into places. No reservation distinguishes servers of one place, so a plan counts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libs.domain.domain_limits import MSB
from libs.domain.fleet import FleetSnapshot
from libs.domain.limited_kinds import limited_kinds
from libs.domain.power_use import power_keys
from libs.ras.zones import Zones

Counts = NDArray[np.int64]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """The K places of a region.

    A place is a group of lasting servers in one MSB and one zone, of hardware types with the same value to every
    reservation. It is in one domain of each kind whose loss a reservation survives or whose load a limit counts. It is
    in one rack where a plan counts by rack. Servers that are pinned are places of their own, because they cannot move.
    Plans may count on lasting servers: see Servers.lasting and Servers.pinned in libs/domain/fleet.py.

    of    (S,) int   the place of each server; -1: the server is not lasting
    size  (K,) int   the number of servers of each place
    """

    of: Index
    size: Counts

    def counts(self, binding: NDArray[np.int32], reservations: int) -> Counts:
        """Return the number of servers of each place that `binding` (S,) gives to each of R reservations, (R, K)."""
        K = len(self.size)
        rows = np.flatnonzero((self.of >= 0) & (binding >= 0))
        keys = binding[rows].astype(np.int64) * K + self.of[rows]
        return np.bincount(keys, minlength=reservations * K).reshape(reservations, K)

    def types(self, snapshot: FleetSnapshot) -> Index:
        """Return a hardware type of each place, (K,). All types of a place have the same value to each reservation."""
        rows = np.flatnonzero(self.of >= 0)
        found = np.zeros(len(self.size), np.intp)
        found[self.of[rows]] = snapshot.servers.hardware_type[rows]
        return found


def places_of(snapshot: FleetSnapshot, position: NDArray[np.int32] | None = None, zones: Zones | None = None) -> Places:
    """Return the places of a region: its lasting servers by position and by value to reservations.

    position  (S,) int  the MSB or rack of each server; None: its MSB
    zones     the zones that the statement of the region had; None: none
    """
    position = snapshot.server_msb if position is None else position
    servers = snapshot.servers
    rows = np.flatnonzero(servers.lasting)
    value = np.vstack([one.rru for one in snapshot.measures])
    _, kind = np.unique(value, axis=1, return_inverse=True)  # equal for types of equal value
    worth = kind.ravel()[servers.hardware_type[rows]].astype(np.int64)
    number = position[rows].astype(np.int64) * (len(snapshot.hardware_types) + 1) + worth
    number = 2 * number + servers.pinned[rows]
    split = [(loss.of, len(loss.domains)) for loss in snapshot.losses[1:]]
    split += [(kind.of, len(kind.domains)) for kind in limited_kinds(snapshot) if kind.counts and kind.kind != MSB]
    split += [] if zones is None else [(zones.of, zones.open.shape[1])]
    for domain, domains in split:
        ranks = np.unique(number, return_inverse=True)[1]  # else many kinds of many domains exceed 64 bits
        number = ranks * domains + domain[rows]
    for powered in power_keys(snapshot):
        ranks = np.unique(number, return_inverse=True)[1]
        number = ranks * (int(powered.max(initial=0)) + 1) + powered[rows]
    _, place, size = np.unique(number, return_inverse=True, return_counts=True)
    of = np.full(len(servers), -1, np.intp)
    of[rows] = place
    return Places(of=of, size=size.astype(np.int64))
