"""Movers of regions. A region without a row in the table has a mover with the default bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from libs.domain.departure_wait import DepartureWait, WaitsFor
from libs.domain.mover import Mover, MoverBounds
from libs.domain.page import Page
from libs.domain.region_condition import ConditionStatus, RegionConditionType
from libs.domain.spare import OVERSTAYS_S, Spare
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.regions import load_region
from libs.store.platform import audit
from libs.store.platform.database import Transaction
from libs.store.regions.region_conditions import condition_reason, load_condition, set_condition
from libs.store.tables import movers, regions

_BOUNDS = tuple(field.name for field in fields(MoverBounds))
_NO_ACTUATOR, _SIMULATED = "NoActuator", "Simulated"
_SHOWN_MAX = 5
"""Largest number of reservations that a message names."""


def load_mover(tx: Transaction, region_name: str) -> Mover:
    """Return the mover of a region. Raises NotFound for the region."""
    region_id = load_region(tx, region_name).region_id
    return _mover(region_name, tx.execute(sa.select(movers).where(movers.c.region_id == region_id)).mappings().first())


def list_movers(tx: Transaction, region_name: str | None, *, after: int | None, limit: int) -> Page[Mover]:
    """Return a page of the movers of all regions or of one, in the order of the regions' creation. `after` is the last
    id of the page before. Raises NotFound for the region.
    """
    query = (
        sa.select(regions.c.region_id.label("of"), regions.c.name, movers)
        .outerjoin(movers, movers.c.region_id == regions.c.region_id)
        .where(regions.c.region_id > (after or 0))
    )
    if region_name is not None:
        query = query.where(regions.c.region_id == load_region(tx, region_name).region_id)
    rows = tx.execute(query.order_by(regions.c.region_id).limit(limit + 1)).mappings().all()
    ids = {row["name"]: row["of"] for row in rows}
    found = []
    for row in rows:
        own = {key: value for key, value in row.items() if key not in ("of", "name")}
        found.append(_mover(row["name"], None if row["region_id"] is None else own))
    return Page.of(found, limit, lambda mover: ids[mover.region])


def set_bounds(
    tx: Transaction, region_name: str, bounds: MoverBounds, *, generation: int, actor: str, now: datetime
) -> Mover:
    """Set the bounds of a mover. Raises NotFound, and StaleGeneration unless the mover is at `generation`."""
    region_id, before = _lock(tx, region_name)
    if before.generation != generation:
        raise StaleGeneration("mover", region_name, expected=generation, found=before.generation)
    if bounds == before.bounds:
        return before
    _update(tx, region_id, asdict(bounds))
    audit.append(
        tx,
        actor=actor,
        action="set_mover_bounds",
        subject_kind="region",
        subject_id=region_id,
        now=now,
        before=asdict(before.bounds),
        after=asdict(bounds),
    )
    return load_mover(tx, region_name)


def pause_mover(tx: Transaction, region_name: str, *, reason: str, actor: str, now: datetime) -> Mover:
    """Pause the mover, so that no step begins. If the mover is paused already, keep the time and the reason of that
    pause.
    """
    region_id, before = _lock(tx, region_name)
    if before.paused_at is not None:
        return before
    _update(tx, region_id, {"paused_at": now, "paused_reason": reason})
    message = f"{actor} paused it: {reason}. Steps under way end, none begins. `plimsoll resume {region_name}` goes on."
    _say(tx, region_id, RegionConditionType.MOVING, ConditionStatus.FALSE, "Paused", message, now)
    _audit(tx, region_id, "pause_mover", reason, actor, now)
    return load_mover(tx, region_name)


def resume_mover(tx: Transaction, region_name: str, *, reason: str, actor: str, now: datetime) -> Mover:
    """Resume the mover. If the mover is not paused, change nothing. The time of the pause does not count toward the
    duration of a step.
    """
    region_id, before = _lock(tx, region_name)
    if before.paused_at is None:
        return before
    _update(tx, region_id, {"paused_at": None, "paused_reason": None, "patient_since": now})
    _say(tx, region_id, RegionConditionType.MOVING, ConditionStatus.TRUE, "Resumed", f"{actor}: {reason}", now)
    _audit(tx, region_id, "resume_mover", reason, actor, now)
    return load_mover(tx, region_name)


def note_actuator(tx: Transaction, region_name: str, actuator: str | None, *, now: datetime) -> None:
    """Set the region's condition if `actuator` is None or the simulated actuator. Raises NotFound.

    Write nothing if the condition is already set. The time without an actuator does not count toward the duration of a
    step.
    """
    region_id = load_region(tx, region_name).region_id
    kind = RegionConditionType.ACTUATOR_REACHABLE
    said = condition_reason(tx, region_id, kind)
    if actuator is None:
        message = (
            "No actuator is named, so no server moves. Name one in the mover's PLIMSOLL_MOVER_ACTUATOR: `webhook` "
            "moves real servers, `simulated` moves none and is for trying Plimsoll."
        )
        _say(tx, region_id, kind, ConditionStatus.FALSE, _NO_ACTUATOR, message, now)
        return
    if said == _NO_ACTUATOR:
        _lock(tx, region_name)
        _update(tx, region_id, {"patient_since": now})
    if actuator == "simulated":
        message = "The actuator is simulated: it moves no real server."
        _say(tx, region_id, kind, ConditionStatus.TRUE, _SIMULATED, message, now)
    elif said in (_NO_ACTUATOR, _SIMULATED):
        _say(tx, region_id, kind, ConditionStatus.UNKNOWN, "NotAsked", f"{actuator} has not been asked yet.", now)


def note_unanswered(
    tx: Transaction, region_name: str, *, probe_at: datetime | None, message: str, now: datetime
) -> Mover:
    """Count a tick of the mover on which the actuator did not answer. If `probe_at` is given, open the circuit breaker
    and set the region's condition.
    """
    region_id, before = _lock(tx, region_name)
    _update(tx, region_id, {"ticks_failed": before.ticks_failed + 1, "probe_at": probe_at})
    if probe_at is not None:
        _say(
            tx,
            region_id,
            RegionConditionType.ACTUATOR_REACHABLE,
            ConditionStatus.FALSE,
            "NoAnswer",
            f"The actuator gives no answer: {message}. Moves wait, no server is blamed. The mover tries one step at a "
            "time until it answers.",
            now,
        )
    return load_mover(tx, region_name)


def note_answered(tx: Transaction, region_name: str, *, now: datetime) -> Mover:
    """Close the circuit breaker, because the actuator answers again. Only the time from `now` on counts toward the
    duration of a step.
    """
    region_id, _ = _lock(tx, region_name)
    _update(tx, region_id, {"ticks_failed": 0, "probe_at": None, "patient_since": now})
    kind, message = RegionConditionType.ACTUATOR_REACHABLE, "The actuator answers."
    _say(tx, region_id, kind, ConditionStatus.TRUE, "Answers", message, now)
    return load_mover(tx, region_name)


def lock_mover(tx: Transaction, region_id: int) -> None:
    """Let other transactions that lock the mover of the region wait until this one ends."""
    tx.execute(insert(movers).values(region_id=region_id).on_conflict_do_nothing())
    tx.execute(sa.select(movers.c.region_id).where(movers.c.region_id == region_id).with_for_update())


def note_waits(tx: Transaction, region_id: int, waits: Sequence[DepartureWait], *, now: datetime) -> None:
    """Set the region's condition that says which reservations cannot spare servers yet, so that these servers wait with
    their moves.
    """
    kind = RegionConditionType.ROOM_TO_MOVE
    if not waits:
        _say(tx, region_id, kind, ConditionStatus.TRUE, "NothingWaits", "No move waits for capacity.", now)
        return
    most = sorted(waits, key=lambda wait: (-wait.servers, wait.reservation))
    shown = ", ".join(f"{wait.servers} of {wait.reservation}" for wait in most[:_SHOWN_MAX])
    more = f" and of {len(most) - _SHOWN_MAX} more" if len(most) > _SHOWN_MAX else ""
    oldest = min(waits, key=lambda wait: (wait.since, wait.reservation))
    message = (
        "Servers that may not leave their reservation yet, because it would fall below what it must keep: "
        f"{shown}{more}. The oldest wait: {oldest.message} `plimsoll get waits` lists all."
    )
    numbers = {
        "servers": sum(wait.servers for wait in waits),
        "by_reservation": {wait.reservation: wait.servers for wait in most[:_SHOWN_MAX]},
        "for_capacity": sum(wait.servers for wait in waits if wait.waits_for is WaitsFor.CAPACITY),
    }
    set_condition(
        tx, region_id, kind, ConditionStatus.FALSE, reason="CapacityMissing", message=message, numbers=numbers, now=now
    )


def note_overstaying(tx: Transaction, region_id: int, spares: Sequence[Spare], *, now: datetime) -> None:
    """Set the region's condition that names the lent servers which overstay.

    spares   these servers
    """
    kind = RegionConditionType.LOANS_RETURNED
    if not spares:
        _say(tx, region_id, kind, ConditionStatus.TRUE, "Returned", "No lent server overstays.", now)
        return
    first = sorted(spares, key=lambda spare: (spare.recalled_at or now, spare.server_id))
    shown = ", ".join(
        f"{one.server} at {one.reservation} since {one.recalled_at or now:%Y-%m-%d %H:%M} UTC"
        for one in first[:_SHOWN_MAX]
    )
    more = f" and {len(first) - _SHOWN_MAX} more" if len(first) > _SHOWN_MAX else ""
    message = (
        f"Servers whose loan ended over {OVERSTAYS_S / 60:g} minutes ago, and that their reservation cannot spare: "
        f"{shown}{more}. `plimsoll get loans` lists all; the next solve gives the reservation other servers, or this "
        "one, where there are any."
    )
    numbers = {"server_ids": [one.server_id for one in first]}
    set_condition(
        tx, region_id, kind, ConditionStatus.FALSE, reason="Overstays", message=message, numbers=numbers, now=now
    )


def load_overstaying(tx: Transaction, region_id: int) -> list[int]:
    """Return the ids of the servers that the region's condition says overstay."""
    condition = load_condition(tx, region_id, RegionConditionType.LOANS_RETURNED)
    ids = [] if condition is None else condition.numbers.get("server_ids", [])
    return [int(server_id) for server_id in ids] if isinstance(ids, list) else []


def _mover(region_name: str, row: Mapping[Any, Any] | None) -> Mover:
    if row is None:
        return Mover(region=region_name)
    values = {str(key): value for key, value in row.items() if key not in ("region_id", "wait_s_max", *_BOUNDS)}
    return Mover(region=region_name, bounds=MoverBounds(**{name: row[name] for name in _BOUNDS}), **values)


def _lock(tx: Transaction, region_name: str) -> tuple[int, Mover]:
    region_id = load_region(tx, region_name).region_id
    lock_mover(tx, region_id)
    row = tx.execute(sa.select(movers).where(movers.c.region_id == region_id)).mappings().one()
    return region_id, _mover(region_name, row)


def _update(tx: Transaction, region_id: int, values: Mapping[str, object]) -> None:
    tx.execute(sa.update(movers).where(movers.c.region_id == region_id).values(**values))


def _say(
    tx: Transaction,
    region_id: int,
    kind: RegionConditionType,
    status: ConditionStatus,
    reason: str,
    message: str,
    now: datetime,
) -> None:
    set_condition(tx, region_id, kind, status, reason=reason, message=message, now=now)


def _audit(tx: Transaction, region_id: int, action: str, reason: str, actor: str, now: datetime) -> None:
    audit.append(tx, actor=actor, action=action, subject_kind="region", subject_id=region_id, now=now, reason=reason)
