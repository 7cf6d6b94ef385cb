"""Plan drains of many racks over days, so that no promise is broken at any time (docs/designs/0057). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from libs.domain.drain_schedule import DrainGround, DrainSchedule, DrainSlot
from libs.domain.maintenance import (
    MaintenanceAnswer,
    MaintenanceGround,
    MaintenanceReason,
    MaintenanceVerdict,
    SpareServers,
)
from libs.ras.maintenance import may_begin


@dataclass(slots=True)
class _Slot:
    starts_at: datetime
    racks: list[int] = field(default_factory=list)


def plan_drains(
    ground: DrainGround, *, begins_at: datetime, ends_at: datetime, each: timedelta, slots_max: int
) -> DrainSchedule:
    """Return a schedule in which `may_begin` allows the racks of every slot together, as the region is now.

    Slots follow each other from `begins_at`, each as long as `each`, at most `slots_max`. A slot that overlaps
    maintenance that was asked for already stays empty. Racks come MSB by MSB, most servers first, each into the first
    slot that may have it. A rack that no slot may have is left over, with the answer for it alone.
    """
    free = [_Slot(at) for at in _starts(begins_at, ends_at, each, slots_max) if not _is_taken(ground, at, at + each)]
    unplaced: list[tuple[str, MaintenanceAnswer]] = []
    used = 0
    order = sorted(range(len(ground.rack)), key=lambda k: (ground.rack_msb[k], -ground.servers[k], str(ground.rack[k])))
    for k in order:
        alone = _answer(ground, [k])
        if alone.verdict is not MaintenanceVerdict.NOW:
            unplaced.append((str(ground.rack[k]), alone))
            continue
        here = [slot for slot in free[:used] if ground.rack_msb[slot.racks[0]] == ground.rack_msb[k]]
        fits = (slot for slot in here if _answer(ground, [*slot.racks, k]).verdict is MaintenanceVerdict.NOW)
        slot = next(fits, None)
        if slot is None and used < len(free):
            slot, used = free[used], used + 1
        if slot is None:
            unplaced.append((str(ground.rack[k]), _no_slot(len(free))))
        else:
            slot.racks.append(k)
    slots = tuple(_told(ground, slot.starts_at, each, slot.racks) for slot in free[:used])
    return DrainSchedule(slots=slots, unplaced=tuple(unplaced))


def _answer(ground: DrainGround, racks: Sequence[int]) -> MaintenanceAnswer:
    """Return what the rules of maintenance say to the drain of these racks together, with none under way."""
    region, total = ground.region, ground.region.rows_rru.sum(1)
    held = region.least(total)
    asked = np.bincount(ground.rack_msb[racks], ground.servers[racks], len(region.domain)).astype(np.int64)
    return may_begin(
        MaintenanceGround(
            msb=region.domain,
            servers=region.servers,
            in_maintenance=np.zeros_like(region.servers),
            down=region.down,
            asked=asked,
            underway=(),
            reservation=region.reservation,
            granted_rru=_promised_rru(ground, racks),
            held_rru=held,
            gone_rru=held - region.least(total - ground.gone_rru[racks].sum(0)),
            spares=_spares(ground, racks),
        )
    )


def _spares(ground: DrainGround, racks: Sequence[int]) -> tuple[SpareServers, ...]:
    """Return the spare servers of each type of which the racks have some."""
    asked = ground.spare_gone[racks].sum(0)
    return tuple(
        SpareServers(
            hardware_type=str(ground.spare_type[t]),
            servers=int(ground.spare_servers[t]),
            in_maintenance=0,
            asked=int(asked[t]),
        )
        for t in np.flatnonzero(asked)
    )


def _promised_rru(ground: DrainGround, racks: Sequence[int]) -> np.ndarray:
    """Return the (R,) RRU that count as promised: 0 for reservations from which the racks take nothing, as they may be
    short for other reasons.
    """
    takes = ground.gone_rru[racks].sum(0)[: len(ground.region.reservation)] > 0
    return np.where(takes, ground.region.granted_rru, 0.0)


def _starts(begins_at: datetime, ends_at: datetime, each: timedelta, most: int) -> list[datetime]:
    return [begins_at + number * each for number in range(min(most, int((ends_at - begins_at) / each + 1e-9)))]


def _is_taken(ground: DrainGround, starts_at: datetime, ends_at: datetime) -> bool:
    return any(begin < ends_at and (end is None or end > starts_at) for begin, end in ground.asked)


def _no_slot(slots: int) -> MaintenanceAnswer:
    message = f"all {slots} slots have other racks; give it more time, or let each drain be shorter"
    return MaintenanceAnswer(verdict=MaintenanceVerdict.REFUSED, reason=MaintenanceReason.NO_SLOT, message=message)


def _told(ground: DrainGround, starts_at: datetime, each: timedelta, racks: Sequence[int]) -> DrainSlot:
    return DrainSlot(
        starts_at=starts_at,
        ends_at=starts_at + each,
        msb=str(ground.region.domain[ground.rack_msb[racks[0]]]),
        racks=tuple(str(ground.rack[k]) for k in racks),
        servers=int(ground.servers[racks].sum()),
    )
