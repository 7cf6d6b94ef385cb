"""The reservations of a region as arrays, one row each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from libs.domain.arrays import Bools, Floats, Ints, Names
from libs.domain.domain_limits import HARD_LIMITS
from libs.domain.reservation import PRIORITY_MIDDLE, ROUNDING


def weight_of(priority: Ints) -> Floats:
    """Return the factor on the penalties of a reservation with this class of priority (docs/designs/0024). The middle
    class has factor 1.
    """
    return np.asarray(10.0 ** (priority - PRIORITY_MIDDLE), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reservations:
    """The reservations of a region, one row each. T hardware types, D datacenters, J kinds of domain.

    id                 (R,) int
    name               (R,) str
    capacity_rru       (R,) RRU     C_r
    survives_msb_loss  (R,) bool    True: expression 6 applies
    survives_loss_of   (R, J) bool  True: expression 6 applies to the domains of one of Topology.kinds
    msb_spread_limit   (R,) float   alpha^F, fraction of capacity in one MSB; inf: no limit
    rack_spread_limit  (R,) float   alpha^K, fraction of capacity in one rack; inf: no limit
    rru                (R, T) RRU   V per server of a hardware type; 0: ineligible. Of a host, V of its share of one
    resources          (R, Q)       amount of each of FleetSnapshot.resources that must be there too; 0: not asked for
    priority           (R,) int     class, 0 to PRIORITY_MAX
    move_cost          (R,) float   factor on the costs of moving its servers
    gbit_per_rru       (R,) Gbit/s  what one RRU sends out of its rack
    msb_share_max      (R,) float   hard limit on the fraction of capacity in one MSB; inf: no limit
    domain_limits      (R, K, L)    limits for each of the K = 2 + J kinds of `limit_kinds`; inf: no limit. The last
                                    axis has LIMITS of libs/domain/domain_limits.py, of which the first are hard
    allowed            (R, D) bool  hard limit: whether a datacenter may hold servers of the reservation
    affinity_share     (R, D)       A, fraction of capacity wanted in a datacenter; nan: not constrained
    generation         (R,) int
    """

    id: Ints
    name: Names
    capacity_rru: Floats
    survives_msb_loss: Bools
    survives_loss_of: Bools
    msb_spread_limit: Floats
    rack_spread_limit: Floats
    rru: Floats
    resources: Floats
    affinity_share: Floats
    priority: Ints
    move_cost: Floats
    gbit_per_rru: Floats
    msb_share_max: Floats
    domain_limits: Floats
    allowed: Bools
    generation: Ints

    def with_capacity(self, capacity_rru: Floats) -> Reservations:
        """Return the reservations with other capacities (R,). The resources change by the same share."""
        share = np.divide(capacity_rru, self.capacity_rru, out=np.ones(len(self)), where=self.capacity_rru > 0)
        return replace(self, capacity_rru=capacity_rru, resources=self.resources * share[:, None])

    @property
    def weight(self) -> Floats:
        """Return the (R,) factor of each reservation's penalties: 10 per class above the middle one."""
        return weight_of(self.priority)

    @property
    def surplus_weight(self) -> Floats:
        """Return the (R,) factor of each reservation on the price of its surplus.

        A high cost of moves then keeps no servers above need.
        """
        return np.maximum(self.move_cost, 1.0)

    @property
    def enough_rru(self) -> Floats:
        """Return the (R,) RRU with which each reservation holds its capacity. The difference comes from rounding."""
        return self.capacity_rru * (1 - ROUNDING)

    @property
    def limits_domains(self) -> Bools:
        """Return a (R,) mask of the reservations with a hard limit in `domain_limits` other than a share of an MSB.

        Quick sums of RRU by MSB do not know these limits.
        """
        limited = np.isfinite(self.domain_limits[:, :, : len(HARD_LIMITS)])
        limited[:, 1, 2] = False
        return np.asarray(limited.any(axis=(1, 2)))

    @property
    def asks_resources(self) -> Bools:
        """Return a (R,) mask of the reservations that ask for resources beside RRU. Quick sums of RRU do not know
        them.
        """
        return np.asarray((self.resources > 0).any(axis=1))

    @property
    def msb_limit_rru(self) -> Floats:
        """Return the (R,) RRU that one MSB may hold at most; inf: no limit."""
        share = np.minimum(self.msb_share_max, self.domain_limits[:, 1, 2])
        return np.where(np.isinf(share), np.inf, np.where(np.isinf(share), 0.0, share) * self.capacity_rru)

    def __len__(self) -> int:
        return len(self.id)
