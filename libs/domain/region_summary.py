"""A region in a few numbers, for its operators."""

from __future__ import annotations

from dataclasses import dataclass

from libs.domain.readiness import Availability, ReadinessRecord, RegionReadiness
from libs.domain.server_counts import ServerCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareTypeSummary:
    """The servers of one hardware type.

    bound           servers whose target is a reservation
    free            servers that are up and have no target
    in_use          servers that run containers
    to_move         servers whose current binding differs from their target
    unavailable     servers that are down for an unplanned reason
    in_maintenance  servers in planned maintenance
    """

    hardware_type: str
    servers: int
    bound: int
    free: int
    in_use: int
    to_move: int
    unavailable: int
    in_maintenance: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstReservation:
    """A reservation that did not hold what it asks for, for some of the last 30 days. last: its last record."""

    reservation_id: int
    name: str
    availability: Availability
    last: ReadinessRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortReservation:
    """A reservation whose targets fall short of its capacity.

    message   why, by the last finding, and what to do; None: no finding says that it is short
    """

    reservation_id: int
    name: str
    capacity_rru: float
    shortfall_rru: float
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionChurn:
    """Preemptions of servers in use beside the churn budget, as the last solve of the region reported them.

    used       preemptions of the 24 hours before the solve, and those that were under way
    most       preemptions that the solve could plan
    planned    preemptions that it planned
    over       those of them beyond the budget, to repair a promise
    held_back  servers that the solve would have exchanged with a larger budget
    """

    used: int
    most: int
    planned: int
    over: int
    held_back: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSummary:
    """Servers by hardware type, and the coverage of reservations: by target bindings, and by the servers that they hold
    now.

    reservations          number of reservations, shared buffers included
    degraded              number of them with a shortfall
    capacity_rru          sum of the capacities that they want
    embedded_buffer_rru   sum over the reservations of the largest domain of those whose loss each survives
    domain_kinds          further kinds of domain of which its servers have places
    survived_kinds        kinds of domain of which any reservation survives a loss, MSB_KIND first
    shared_buffer_rru     total of the shared buffers
    shortfall_rru         sum of the shortfalls; that of a host counts those of its guests
    places                servers by place and hardware type, ordered by their names
    short                 reservations with the largest shortfalls, largest first
    readiness             capacity that the guaranteed reservations held at the last look; None before the first look
    worst                 guaranteed reservations with the lowest availability, lowest first
    churn                 the churn budget at the last solve; None before the first solve
    """

    hardware_types: tuple[HardwareTypeSummary, ...]
    reservations: int
    degraded: int
    capacity_rru: float
    embedded_buffer_rru: float
    domain_kinds: tuple[str, ...]
    survived_kinds: tuple[str, ...]
    shared_buffer_rru: float
    shortfall_rru: float
    places: tuple[ServerCounts, ...]
    short: tuple[ShortReservation, ...]
    readiness: RegionReadiness | None = None
    worst: tuple[WorstReservation, ...] = ()
    churn: RegionChurn | None = None
