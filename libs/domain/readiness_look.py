"""A look at the reservations of a region: one reading of all of them, and the records that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from libs.domain.readiness import ReadinessRecord, RegionReadiness
from libs.domain.reservation import Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A live reservation at the moment of a look.

    is_guaranteed  promised to an owner; a shared buffer is not
    is_promised    the reservation's window has begun
    is_guest       it has a share of the servers of a host, whose shortfall counts that of its guests
    capacity_rru   asked for
    granted_rru    promised: what was granted of it
    held           coverage of the reservation by its current servers that are up
    last           last record of the reservation; None: there is no record yet
    """

    reservation_id: int
    is_guaranteed: bool
    is_promised: bool
    is_guest: bool
    capacity_rru: float
    granted_rru: float
    generation: int
    held: Coverage
    last: ReadinessRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessLook:
    """The live reservations of a region. `before` holds the region's numbers at the last look; None: this is the first
    look.
    """

    region_id: int
    before: RegionReadiness | None
    reservations: Sequence[Watched]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessPlan:
    """The result of a look: records for the history, and numbers for the region.

    records     (reservation_id, record) to append, in order of time for each reservation
    region      the region's numbers now
    is_unknown  whether the states since the last look are unknown
    """

    records: Sequence[tuple[int, ReadinessRecord]]
    region: RegionReadiness
    is_unknown: bool
