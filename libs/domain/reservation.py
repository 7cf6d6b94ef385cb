"""A reservation: capacity that an owner is guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from libs.domain.booking import Booking
from libs.domain.domain_kind import MSB_KIND, WorstDomain
from libs.domain.domain_limits import DomainLimit
from libs.domain.finding import Finding


class ReservationKind(StrEnum):
    """The purpose of a reservation."""

    GUARANTEED = "guaranteed"
    SHARED_BUFFER = "shared_buffer"
    """Spare servers that replace random failures. Each hardware type has one shared buffer (RAS, 3.3.1)."""


class CapacityUnit(StrEnum):
    """The unit of an owner's capacity: relative resource units (RRU), or servers of one RRU each."""

    RRU = "rru"
    COUNT = "count"


RRU_MIN = 1e-6
"""The least capacity of a reservation, and the least worth of a server, in RRU. Less is lost in the rounding of solves.
"""
CAPACITY_RRU_MAX = 1e12
"""Largest capacity of one reservation, in RRU."""
SERVER_RRU_MAX = 1e6
"""Most RRU of one server."""
AFFINITY_SHARE_MAX = 10.0
"""Largest share of the capacity that a reservation may want in one datacenter."""
PRIORITY_MAX = 4
"""The highest of the five classes of priority, 0 to 4. It is served first."""
PRIORITY_MIDDLE = 2
"""The class of a reservation that names no priority."""
MOVE_COST_MIN, MOVE_COST_MAX = 0.1, 10.0
"""Bounds of the factor of a reservation on the costs of moving its servers."""
GBIT_PER_RRU_MAX = 1e4
"""Most Gbit/s that one RRU may send."""
ROUNDING = 1e-9
"""Share of the capacity below which a shortfall is floating-point rounding and counts as none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationSpec:
    """The capacity that an owner asks for.

    capacity_rru       guaranteed RRU; after the loss of any one MSB if survives_msb_loss
    survives_loss_of   further kinds of domain: the capacity is also there after the loss of any one domain of each
    rru                hardware type -> RRU of one server; absent types are ineligible
    resources          resource -> amount that must be there too, as capacity_rru must
    msb_spread_limit   fraction of the capacity that one MSB may hold without cost; None: no limit
    rack_spread_limit  fraction of the capacity that one rack may hold without cost; None: no limit
    affinity           datacenter -> wanted fraction of the capacity; absent datacenters are unconstrained
    affinity_follows   name of the reservation whose holdings `affinity` follows; None: the shares are the owner's own
    priority           class, 0 to PRIORITY_MAX: where capacity lacks, higher classes are served first
    workload_class     class of the region's catalogue that `rru` follows; None: the values are the owner's own
    move_cost          factor on the region's costs of moving servers, for those of this reservation
    gbit_per_rru       Gbit/s that one RRU sends out of its rack; 0: not known
    msb_share_max      most of the capacity that one MSB may hold, as a fraction: a hard limit; None: no limit
    datacenters        the only datacenters that may hold its servers: a hard limit; empty: all
    domain_limits      hard limits on the domains that hold it, at most one entry per kind of domain
    guest_of           name of the reservation of the same owner, the host, on whose servers it is; None: it has its own
    guest_share        fraction of each of these servers that it has; None: it is no guest
    starts_at, ends_at window of the reservation; None: at once, and until it is deleted
    """

    capacity_rru: float
    rru: Mapping[str, float]
    resources: Mapping[str, float] = field(default_factory=dict)
    unit: CapacityUnit = CapacityUnit.RRU
    host_profile: str = "default"
    survives_msb_loss: bool = True
    survives_loss_of: tuple[str, ...] = ()
    msb_spread_limit: float | None = None
    rack_spread_limit: float | None = None
    affinity: Mapping[str, float] = field(default_factory=dict)
    affinity_follows: str | None = None
    priority: int = PRIORITY_MIDDLE
    move_cost: float = 1.0
    gbit_per_rru: float = 0.0
    msb_share_max: float | None = None
    datacenters: tuple[str, ...] = ()
    domain_limits: tuple[DomainLimit, ...] = ()
    workload_class: str | None = None
    guest_of: str | None = None
    guest_share: float | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None

    @property
    def kinds_survived(self) -> tuple[str, ...]:
        """Return the kinds of domain of which any one may be lost, MSBs first."""
        return (*((MSB_KIND,) if self.survives_msb_loss else ()), *self.survives_loss_of)

    def following(self, classes: Mapping[str, Mapping[str, float]]) -> ReservationSpec:
        """Return the spec with the present RRUs of its class of workload. Without the class, the values are its own.

        classes   the catalogue: class of workload -> hardware type -> RRU
        """
        current = classes.get(self.workload_class or "")
        return replace(self, workload_class=None) if current is None else replace(self, rru=current)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldResource:
    """The amount of one resource that a set of bindings gives a reservation.

    asked, total   units that it asks for, and those of all servers
    left           units that are left after the worst loss that it must survive
    """

    resource: str
    asked: float
    total: float
    left: float

    @property
    def short(self) -> float:
        """Return the units that it lacks after that loss; 0: none."""
        lacks = self.asked - self.left
        return lacks if lacks > ROUNDING * self.asked else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The capacity that a set of bindings gives a reservation. Only available servers count.

    total_rru          capacity of all servers
    worst_msb_rru      capacity in the MSB that holds most
    shortfall_rru      missing capacity, after the worst loss that the reservation must survive; 0: none missing. With
                       resources, the largest share that is missing of RRU or of one of them, in RRU
    lacking_msbs       MSBs with bound servers that do not count
    lost_msbs          MSBs with bound servers of which none counts
    survives_msb_loss  whether the reservation must survive the loss of an MSB
    further            the worst domain of each further kind whose loss it must survive
    resources          the resources that it asks for, in order of name
    """

    servers: int
    unavailable_servers: int
    total_rru: float
    worst_msb_rru: float
    worst_msb: str | None
    shortfall_rru: float
    lacking_msbs: int = 0
    lost_msbs: int = 0
    survives_msb_loss: bool = True
    further: tuple[WorstDomain, ...] = ()
    resources: tuple[HeldResource, ...] = ()

    def scarce(self, capacity_rru: float) -> HeldResource | None:
        """Return the resource of which a larger share is missing than of the others and of the RRU; None: none is."""
        worst = min(self.resources, key=lambda one: one.left / one.asked, default=None)
        if worst is None or worst.short == 0 or worst.left / worst.asked * capacity_rru >= self.left_rru:
            return None
        return worst

    @property
    def survived(self) -> tuple[WorstDomain, ...]:
        """Return the worst domain of each kind whose loss the reservation must survive, MSBs first."""
        if not self.survives_msb_loss:
            return self.further
        msb = WorstDomain(
            kind=MSB_KIND,
            domain=self.worst_msb,
            rru=self.worst_msb_rru,
            lacking=self.lacking_msbs,
            lost=self.lost_msbs,
        )
        return (msb, *self.further)

    @property
    def worst(self) -> WorstDomain | None:
        """Return the loss that takes most of those that the reservation must survive. None: it survives none, or has no
        capacity to lose.
        """
        return max((one for one in self.survived if one.rru > 0), key=lambda one: one.rru, default=None)

    @property
    def left_rru(self) -> float:
        """Return the capacity that is left after that loss."""
        return self.total_rru - (0.0 if self.worst is None else self.worst.rru)

    def keeps(self, capacity_rru: float, granted_rru: float | None = None) -> bool:
        """Return whether `granted_rru` of the `capacity_rru` that are asked for is kept; None: all of it. It is kept if
        the counted servers cover it after the worst loss that the reservation must survive.

        It is also kept if exactly one whole domain is missing, of a kind that the reservation must survive, and the
        other domains cover it. The failure of a single server is not such a loss. Of each resource, the same share of
        what is asked for must be there as of the RRU.
        """
        least = (capacity_rru if granted_rru is None else granted_rru) - ROUNDING * capacity_rru
        is_loss = any(one.is_loss for one in self.survived)
        holds = self.total_rru >= least and all(one.total / one.asked * capacity_rru >= least for one in self.resources)
        return capacity_rru - self.shortfall_rru >= least or (is_loss and holds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationName:
    """A reservation to choose from."""

    reservation_id: int
    name: str
    owner: str
    capacity_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A reservation: its spec and its state. `current`, `target` and `held` are computed on reading.

    guests      its guests: name -> share of each of its servers
    held        by its current servers that are up: what its owner can use now. A guest has servers of its host

    scheduled   True: its window has not begun, so it has a name and no servers
    booking     the servers that are kept for it; None: its window has begun, or nothing was decided yet
    """

    reservation_id: int
    region: str
    name: str
    kind: ReservationKind
    owner: str
    spec: ReservationSpec
    scheduled: bool
    generation: int
    created_at: datetime
    deleted_at: datetime | None
    finding: Finding | None
    booking: Booking | None
    current: Coverage
    target: Coverage
    held: Coverage
    guests: Mapping[str, float] = field(default_factory=dict)

    @property
    def server_share(self) -> float:
        """Return the share of each of its servers that it has: a guest its own, a host what its guests leave."""
        share = self.spec.guest_share
        return round(1.0 - sum(self.guests.values()), 9) if share is None else share
