"""A schedule of drains: racks of a region by the slots of time in which they may be in maintenance together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from libs.domain.arrays import Floats, Indices, Ints, Names
from libs.domain.loss_outlook import LossGround
from libs.domain.maintenance import MaintenanceAnswer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrainGround:
    """The facts behind a schedule. K racks to drain; M MSBs and Q rows, as in `region.rows_rru`; T hardware types.

    rack           (K,) str      names
    rack_msb       (K,) int      the MSB of each, a row of `region.msb`
    servers        (K,) int      servers of the fleet in each
    gone_rru       (K, Q) RRU    capacity of each row that is up and has joined in each rack
    spare_type     (T,) str      the types that have spare servers in the region
    spare_servers  (T,) int      spare servers of each, in maintenance or not
    spare_gone     (K, T) int    those of them in each rack
    asked          planned maintenance that has begun or waits: from when until when; None: no end is known
    """

    region: LossGround
    rack: Names
    rack_msb: Indices
    servers: Ints
    gone_rru: Floats
    spare_type: Names
    spare_servers: Ints
    spare_gone: Ints
    asked: tuple[tuple[datetime, datetime | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainSlot:
    """Racks of one MSB that may be drained at one time."""

    starts_at: datetime
    ends_at: datetime
    msb: str
    racks: tuple[str, ...]
    servers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainSchedule:
    """The slots in order of time, and the racks that no slot can have, with the reason for each."""

    slots: tuple[DrainSlot, ...]
    unplaced: tuple[tuple[str, MaintenanceAnswer], ...]
