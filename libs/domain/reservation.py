"""A reservation: capacity that an owner is guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class ReservationKind(StrEnum):
    """What a reservation is for."""

    GUARANTEED = "guaranteed"
    SHARED_BUFFER = "shared_buffer"
    """Replacements for random failures; one per hardware type (RAS, 3.3.1)."""
    ELASTIC = "elastic"
    """Borrows idle buffers (RAS, 3.4)."""


class CapacityUnit(StrEnum):
    """How an owner counts: in relative resource units, or in servers, which are RRUs of one."""

    RRU = "rru"
    COUNT = "count"


class ReservationPhase(StrEnum):
    """Whether the target bindings cover the capacity."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    GRANTED = "granted"
    DEGRADED = "degraded"
    DELETED = "deleted"


ROUNDING = 1e-9
"""A shortfall below this share of the capacity comes of adding floats in some order, and counts as none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationSpec:
    """What the owner wants.

    capacity_rru       RRU that must be there, after the loss of any one MSB where survives_msb_loss
    rru                RRU of one server per hardware type; a type that is absent is ineligible
    msb_spread_limit   fraction of the capacity that may lie in one MSB before it costs; None: no limit
    rack_spread_limit  likewise in one rack
    affinity           fraction of the capacity wanted in a datacenter; only those named are constrained
    starts_at, ends_at when it is wanted; None: at once, and until it is deleted
    """

    capacity_rru: float
    rru: Mapping[str, float]
    unit: CapacityUnit = CapacityUnit.RRU
    host_profile: str = "default"
    survives_msb_loss: bool = True
    msb_spread_limit: float | None = None
    rack_spread_limit: float | None = None
    affinity: Mapping[str, float] = field(default_factory=dict)
    starts_at: datetime | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a set of bindings gives a reservation, counting available servers only.

    total_rru          all of it
    worst_msb_rru      the part in the MSB that holds most: the embedded buffer where the reservation survives MSB loss
    shortfall_rru      capacity less what survives; 0 where it is covered
    """

    servers: int
    unavailable_servers: int
    total_rru: float
    worst_msb_rru: float
    worst_msb: str | None
    shortfall_rru: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the last assessment or solve found for a reservation, at the generation it looked at."""

    observed_generation: int
    phase: ReservationPhase
    reason: str
    message: str
    numbers: Mapping[str, object]
    changed_at: datetime
    observed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFinding:
    """A finding that is not stored yet. The store adds its times. phase: GRANTED or DEGRADED."""

    reservation_id: int
    observed_generation: int
    phase: ReservationPhase
    reason: str
    message: str
    numbers: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A row of the broker: spec, and what is so. `current` and `target` are computed when it is read.

    scheduled   its window has not begun: it has a name, and takes nothing
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
    current: Coverage
    target: Coverage
