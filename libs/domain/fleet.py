"""A region as arrays: the input of a solve. Names are stored once; all other arrays refer to a name by its index."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libs.domain.arrays import Bools, Floats, Indices, Ints, Names
from libs.domain.canary import PER_RESERVATION, Canary
from libs.domain.domain_kind import MSB_KIND, UNPLACED, DomainKind, DomainLoss, unplaced_name
from libs.domain.guest import Guest
from libs.domain.policy import RegionPolicy
from libs.domain.power import Power
from libs.domain.reservation_rows import Reservations
from libs.domain.resources import NO_RESOURCES, Measure, Resources, measures_of

FREE = -1
"""The value in an array of bindings for a server that is bound to no reservation."""
DELETED = -2
"""The value in an array of bindings for a server that is bound to a deleted reservation. A move away from a deleted
reservation costs nothing.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topology:
    """The places of a region: region > datacenter > MSB > rack, and the domains of J further kinds.

    datacenters, msbs, racks   (D,) (M,) (K,) str   names, unique within the region
    msb_datacenter             (M,) int             the datacenter of each MSB
    rack_msb                   (K,) int             the MSB of each rack
    kinds                      (J,)                 in order of name
    """

    datacenters: Names
    msbs: Names
    racks: Names
    msb_datacenter: Indices
    rack_msb: Indices
    kinds: tuple[DomainKind, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Servers:
    """The servers of a region, one row each.

    id             (S,) int    id in the broker; the row number where there is no broker
    name           (S,) str
    rack           (S,) int    index into Topology.racks
    hardware_type  (S,) int    index into FleetSnapshot.hardware_types
    current        (S,) int    observed binding: index into Reservations, FREE or DELETED
    target         (S,) int    decided binding, in the same form; move costs count from this binding (X in RAS,
                               expression 1)
    in_use         (S,) bool   runs containers: costly to move
    available      (S,) bool   False while the server is down for an unplanned reason; True in planned maintenance (RAS,
                               3.3.1)
    leaving        (S,) bool   a retirement is announced: the server keeps its binding until other servers cover its
                               reservation, and gets no new target
    drained        (S,) bool   in planned maintenance
    awaited        (S,) bool   down with a domain that was lost shortly before: counts as held by its target, and stays
                               there (libs/ras/awaited_losses.py)
    booked         (S,) bool   kept for a reservation that begins later: a free server gets no target, and a bound one
                               stays (docs/designs/0056)
    domain         (S, J) int  the server's domain of each of Topology.kinds, or UNPLACED
    generation     (S,) int    row generation at the time of the snapshot
    """

    id: Ints
    name: Names
    rack: Indices
    hardware_type: Indices
    current: Indices
    target: Indices
    in_use: Bools
    available: Bools
    leaving: Bools
    drained: Bools
    awaited: Bools
    booked: Bools
    domain: Indices
    generation: Ints

    @property
    def lasting(self) -> Bools:
        """Return a (S,) mask of the servers that plans may count on: available or awaited, and not leaving. A free one
        is neither drained nor booked.
        """
        held_back = (self.drained | self.booked) & (self.target < 0)
        return (self.available | self.awaited) & ~self.leaving & ~held_back

    @property
    def pinned(self) -> Bools:
        """Return a (S,) mask of the lasting servers that stay where they are bound: those that are awaited, booked,
        or in maintenance. The latter could not join another reservation before the maintenance ends.
        """
        return self.lasting & (self.awaited | self.drained | self.booked)

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FleetSnapshot:
    """One consistent reading of a region. It holds all that a solve reads.

    target_plan_id   the plan that made the targets. A new plan names it as its parent
    churned          (R,) int   servers in use that each reservation lost by plans in the last 24 hours, or will lose by
                     present targets. None: the churn budget does not apply
    promised_rru     (R,)       RRU that each reservation was granted so far; a plan may exceed the churn budget only to
                     repair them. None: all reservations were granted their capacity
    cost_units       (T,)       cost units of one server of each hardware type, above 0. None: costs per RRU count each
                     reservation's own RRU, as in the interchange format
    canary           a new policy on trial, whose prices some reservations have; None: all have those of `policy`
    power            the watts of hardware types, and the limits of domains; None: there are neither
    resources        the Q resources that reservations may ask for beside RRU
    guests           the guests of reservations. They are no rows of `reservations`: a resource of the host stands for
                     each (docs/designs/0061)
    uplinks          (K,) Gbit/s  what the servers of each rack may send together; inf: no limit. None: no rack has one
    """

    region: str
    topology: Topology
    hardware_types: Names
    servers: Servers
    reservations: Reservations
    policy: RegionPolicy
    target_plan_id: int | None = None
    churned: Ints | None = None
    promised_rru: Floats | None = None
    cost_units: Floats | None = None
    canary: Canary | None = None
    power: Power | None = None
    resources: Resources = NO_RESOURCES
    guests: tuple[Guest, ...] = ()
    uplinks: Floats | None = None

    def price(self, name: str) -> Floats:
        """Return the (R,) price of each reservation: a field of the policy, one of PER_RESERVATION."""
        if name not in PER_RESERVATION:
            raise ValueError(f"{name} is one value for the whole region")
        price = np.full(len(self.reservations), getattr(self.policy, name), np.float64)
        if self.canary is not None:
            price[self.canary.chosen(self.reservations.name)] = getattr(self.canary.policy, name)
        return price

    def with_costs(self, **costs: Any) -> FleetSnapshot:
        """Return the same region with these fields of the policy, for all reservations."""
        canary = self.canary
        if canary is not None:
            canary = replace(canary, policy=replace(canary.policy, **costs))
        return replace(self, policy=replace(self.policy, **costs), canary=canary)

    @property
    def units_per_rru(self) -> Floats:
        """Return the (R,) fewest cost units that give each reservation one RRU: min_t cost_units[t] / V[r,t].

        Costs per RRU count this many times (docs/designs/0033). It is 1 without cost units, and for a reservation that
        may use no type of the region.
        """
        rru = self.reservations.rru
        if self.cost_units is None or not rru.size:
            return np.ones(len(rru))
        each = np.divide(self.cost_units, rru, out=np.full(rru.shape, np.inf), where=rru > 0).min(1)
        return np.where(np.isinf(each), 1.0, each)

    @property
    def penalty_weight(self) -> Floats:
        """Return the (R,) factor on the penalty of one RRU of each reservation: its priority times its cost units."""
        return np.asarray(self.reservations.weight * self.units_per_rru)

    def in_cost_units(self) -> FleetSnapshot:
        """Return the same region with every RRU counted in cost units, so that costs per RRU need no factor.

        Expressions 3, 4, 6 and 7 and the hard limits are linear in the RRU and the capacity of one reservation. So no
        set of legal bindings changes. Measures follow, because they are in RRU of the reservation.
        """
        if self.cost_units is None:
            return self
        q, factor = self.reservations, self.units_per_rru
        scaled = replace(
            q,
            capacity_rru=q.capacity_rru * factor,
            rru=q.rru * factor[:, None],
            gbit_per_rru=q.gbit_per_rru / factor,
        )
        promised = None if self.promised_rru is None else self.promised_rru * factor
        return replace(self, reservations=scaled, promised_rru=promised, cost_units=None)

    @property
    def shared_rru(self) -> Floats:
        """Return the (R, T, M) worth of one server in each of `measures`, as a share of the capacity in RRU; the RRU
        themselves where a reservation does not ask for the resource.
        """
        rru = self.reservations.rru
        return np.stack([one.share_rru(rru) for one in self.measures], axis=-1)

    def with_resources(self, names: Collection[str]) -> FleetSnapshot:
        """Return the snapshot that knows these resources. No server gives those that it did not know."""
        new = sorted(set(names) - set(self.resources.names))
        if not new:
            return self
        q, none = self.reservations, np.zeros((len(new), len(self.hardware_types)))
        known = Resources(
            names=np.append(self.resources.names, np.array(new, object)),
            amount=np.vstack([self.resources.amount.reshape(len(self.resources), none.shape[1]), none]),
        )
        asked = np.hstack([q.resources, np.zeros((len(q), len(new)))])
        return replace(self, reservations=replace(q, resources=asked), resources=known)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures of expression 6: the RRU first, then each resource that a reservation asks for."""
        return tuple(one for one in self._all_measures if one.resource not in self.resources.waived)

    def measures_of(self, reservation: int) -> tuple[Measure, ...]:
        """Return the measures of one reservation, with one row each: the RRU, and the resources that it asks for."""
        q, row = self.reservations, slice(reservation, reservation + 1)
        return measures_of(q.capacity_rru[row], q.rru[row], q.resources[row], self.resources)

    @property
    def _all_measures(self) -> tuple[Measure, ...]:
        q = self.reservations
        return measures_of(q.capacity_rru, q.rru, q.resources, self.resources)

    @property
    def fewest_servers(self) -> Floats:
        """Return the (R,) fewest servers that could give each reservation its capacity: max_k C[r,k] / max_t V[r,t,k]
        over the measures k.
        """
        fewest = np.zeros(len(self.reservations))
        for one in self._all_measures:
            best = one.rru.max(1, initial=0.0)
            fewest = np.maximum(fewest, np.divide(one.capacity, best, out=np.zeros(len(best)), where=best > 0))
        return fewest

    @property
    def losses(self) -> tuple[DomainLoss, ...]:
        """Return the losses that reservations survive: of an MSB, and of each further kind that a reservation names.

        Servers without a place of a kind count as one domain, so that no promise rests on a missing label.
        """
        q, topology = self.reservations, self.topology
        found = [
            DomainLoss(kind=MSB_KIND, domains=topology.msbs, of=self.server_msb, survives=q.survives_msb_loss),
        ]
        for j in np.flatnonzero(q.survives_loss_of.any(0)):
            kind, of = topology.kinds[j], self.servers.domain[:, j]
            domains, unplaced = kind.domains, of == UNPLACED
            if unplaced.any():
                of = np.where(unplaced, len(domains), of).astype(of.dtype)
                domains = np.append(domains, unplaced_name(kind.name))
            found.append(DomainLoss(kind=kind.name, domains=domains, of=of, survives=q.survives_loss_of[:, j]))
        return tuple(found)

    @property
    def server_msb(self) -> Indices:
        """Return the (S,) MSB of each server."""
        return self.topology.rack_msb[self.servers.rack]

    @property
    def leaving_cost(self) -> Floats:
        """Return the (S,) cost of moving each server away from its target; 0 for a server without one."""
        servers, of = self.servers, np.maximum(self.servers.target, FREE)
        in_use, idle = (np.append(self.price(name), 0.0)[of] for name in ("move_cost_in_use", "move_cost_idle"))
        factor = np.append(self.reservations.move_cost, 0.0)[of]
        return np.asarray(np.where(servers.in_use, in_use, idle) * factor, np.float64)

    @property
    def server_datacenter(self) -> Indices:
        """Return the (S,) datacenter of each server."""
        return self.topology.msb_datacenter[self.server_msb]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetPlan:
    """The target binding of every server of a snapshot. Immutable. The plan names each server, so the mover does not
    choose servers.

    target   (S,) int   index into the snapshot's reservations, or FREE; rows as in the snapshot's servers
    """

    target: Indices
    parent_plan_id: int | None

    def changes(self, snapshot: FleetSnapshot) -> NDArray[np.intp]:
        """Return the rows of servers whose target in this plan differs from their target in `snapshot`.

        A server whose target is a deleted reservation in the snapshot always counts as changed.
        """
        return np.flatnonzero(self.target != snapshot.servers.target)
