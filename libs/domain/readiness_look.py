"""A look at the reservations of a region: the input of their history, and what it appends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from libs.domain.readiness import ReadinessRecord, RegionReadiness
from libs.domain.reservation import Coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A live reservation at the moment of the look.

    is_guaranteed  promised to an owner; a shared buffer is not
    is_promised    its window has begun
    capacity_rru   promised now
    held           its coverage by servers that are there and up
    last           its last record; None: it has none yet
    """

    reservation_id: int
    is_guaranteed: bool
    is_promised: bool
    capacity_rru: float
    generation: int
    held: Coverage
    last: ReadinessRecord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessLook:
    """The live reservations of a region. before: its numbers at the last look; None: this is the first."""

    region_id: int
    before: RegionReadiness | None
    reservations: Sequence[Watched]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessPlan:
    """The result of a look: records for the history, and numbers for the region.

    records     (reservation_id, record) to append, in order of time for each reservation
    region      the region's numbers now
    is_unknown  nothing is known of the time since the last look
    """

    records: Sequence[tuple[int, ReadinessRecord]]
    region: RegionReadiness
    is_unknown: bool
