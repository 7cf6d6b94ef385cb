"""Compare the capacity that reservations hold with their last records. Pure. See docs/designs/0022."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from libs.domain.readiness import NOT_READY, READY, Readiness, ReadinessRecord, RegionReadiness, readiness_of
from libs.domain.readiness_look import ReadinessLook, ReadinessPlan, Watched


def plan_readiness(look: ReadinessLook, *, now: datetime, gap_max: timedelta) -> ReadinessPlan:
    """Return a record for each reservation whose state or numbers changed.

    gap_max   longest time between two looks that counts as watched. After a longer gap, the time since the last look is
              NotWatched, and each present state begins now.
    """
    seen_at = None if look.before is None else look.before.watched_until
    is_unknown = seen_at is not None and now - seen_at > gap_max
    records: list[tuple[int, ReadinessRecord]] = []
    states = []
    for one in look.reservations:
        state = readiness_of(
            one.held,
            capacity_rru=one.capacity_rru,
            granted_rru=one.granted_rru,
            is_promised=one.is_promised,
            generation=one.generation,
            last=one.last,
        )
        states.append((one, state))
        last = one.last
        if last is not None and is_unknown and seen_at is not None:
            last = _not_watched(last, seen_at)
            records.append((one.reservation_id, last))
        record = _record(one, state, last, now)
        if last is None or not record.is_like(last):
            records.append((one.reservation_id, record))
    return ReadinessPlan(records=records, region=_region(states, now), is_unknown=is_unknown)


def _record(one: Watched, state: Readiness, last: ReadinessRecord | None, now: datetime) -> ReadinessRecord:
    is_same = last is not None and last.readiness.status == state.status
    ready_s, watched_s = (0.0, 0.0) if last is None else last.sums_at(now)
    return ReadinessRecord(
        from_at=now,
        since_at=last.since_at if last is not None and is_same else now,
        readiness=state,
        observed_generation=one.generation,
        capacity_rru=one.capacity_rru,
        granted_rru=one.granted_rru,
        held_rru=one.held.total_rru,
        held_after_msb_loss_rru=one.held.total_rru - one.held.worst_msb_rru,
        ready_s=ready_s,
        watched_s=watched_s,
    )


def _not_watched(last: ReadinessRecord, seen_at: datetime) -> ReadinessRecord:
    ready_s, watched_s = last.sums_at(seen_at)
    return replace(
        last,
        from_at=seen_at,
        since_at=seen_at,
        readiness=Readiness.NOT_WATCHED,
        held_rru=None,
        held_after_msb_loss_rru=None,
        ready_s=ready_s,
        watched_s=watched_s,
    )


def _region(states: Iterable[tuple[Watched, Readiness]], now: datetime) -> RegionReadiness:
    promised = [(one, state) for one, state in states if one.is_guaranteed and state in (*READY, *NOT_READY)]
    found = [state for _, state in promised]
    held = [one.held for one, _ in promised]
    return RegionReadiness(
        watched_until=now,
        ready=sum(state in READY for state in found),
        not_there_yet=found.count(Readiness.NOT_THERE_YET),
        capacity_lost=found.count(Readiness.CAPACITY_LOST),
        capacity_rru=sum(one.capacity_rru for one, _ in promised),
        held_rru=sum(one.total_rru for one in held),
        held_after_msb_loss_rru=sum(one.total_rru - one.worst_msb_rru for one in held),
        missing_rru=sum(one.held.shortfall_rru for one, state in promised if state in NOT_READY and not one.is_guest),
    )
