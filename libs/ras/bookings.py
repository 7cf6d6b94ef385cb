"""Decide which servers a reservation gets in its window, among others that begin and end. See docs/designs/0056.

Pure. The region of a window is a snapshot, so admission decides on it like on the region of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from libs.domain.arrays import Bools, Indices
from libs.domain.booking import BEYOND_HORIZON
from libs.domain.calendar import Calendar, NewBooking, Windowed
from libs.domain.fleet import FREE, FleetSnapshot
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ROUNDING
from libs.domain.verdict import Verdict
from libs.domain.what_if import with_reservation
from libs.domain.words import counted, counted_are, moment
from libs.ras.admission import admit

MAINTENANCE_S_MAX = 86400.0
"""Maintenance that is under way is over after this time, so it keeps no server from a later window."""
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decision:
    """The verdict on a reservation in its window.

    rebooked   bookings of others that the verdict moves to other servers
    """

    verdict: Verdict
    rebooked: tuple[NewBooking, ...] = ()


def region_at(snapshot: FleetSnapshot, row: int, one: Windowed, calendar: Calendar) -> FleetSnapshot:
    """Return the region as the reservation `one`, in row `row` of the snapshot, finds it in its window.

    Reservations that end before the window have given up their servers. Servers that are kept for others in a part of
    the window are booked. The reservation has the servers that are kept for it, if they are there: so a booking stays
    where it is if nothing is better.

    calendar   bookings of all others
    """
    servers, window = snapshot.servers, one.window
    target, drained = servers.target, servers.drained
    booked = calendar.kept(window, len(servers))
    if window.from_s > calendar.now_s:
        ends_s = np.full(len(snapshot.reservations) + 1, np.inf)  # the last one is for servers without a target
        ends_s[:-1] = [calendar.ends_s.get(name, np.inf) for name in snapshot.reservations.name]
        target = np.where(ends_s[np.maximum(target, FREE)] <= window.from_s, FREE, target).astype(np.int32)
        if window.from_s >= calendar.now_s + MAINTENANCE_S_MAX:
            drained = np.zeros_like(drained)
    found = replace(servers, target=target, drained=drained, booked=booked)
    own = one.rows[(target[one.rows] < 0) & found.lasting[one.rows]]
    if len(own) and window.from_s > calendar.now_s:
        target = target.copy()
        target[own] = row
        found = replace(found, target=target)
    return replace(snapshot, servers=found)


def decide(snapshot: FleetSnapshot, row: int, asking: Windowed, calendar: Calendar) -> Decision:
    """Return the verdict on the reservation `asking`, which is in row `row` of the snapshot.

    A booking of others gives way only if it can be made again with other servers, and is then no shorter than before.
    One that promises nothing also gives way if `asking` stays a promise by that, and then keeps what is left.

    calendar   bookings of all others
    """
    at = region_at(snapshot, row, asking, calendar)
    verdict = admit(at, row)
    found = _agreed(snapshot, row, asking, calendar, verdict)
    if found is None:  # it has these servers already, so only its window is new
        return Decision(verdict=_refused(verdict, _taken(row, asking, calendar, verdict)))
    kept = at.servers.booked & (at.servers.target < 0) & (at.reservations.rru[row, at.servers.hardware_type] > 0)
    if verdict.phase != "degraded" or not kept.any():
        return found
    other = admit(region_at(snapshot, row, asking, replace(calendar, scheduled=())), row)
    agreed = _agreed(snapshot, row, asking, calendar, other) if _is_better(other, verdict) else None
    if agreed is None and asking.is_promise:
        others = replace(calendar, scheduled=tuple(one for one in calendar.scheduled if one.is_promise))
        other = admit(region_at(snapshot, row, asking, others), row)
        if other.phase == "granted":
            agreed = _agreed(snapshot, row, asking, calendar, other, may_shorten=True)
    return agreed or replace(found, verdict=_with_bookings(verdict, kept, calendar.overlapping(asking.window)))


def rebook(
    snapshot: FleetSnapshot, moved: Iterable[Windowed], calendar: Calendar, *, may_shorten: bool = False
) -> tuple[NewBooking, ...] | None:
    """Return a booking for each of `moved`, one after the other. Return None if one of them would be worse than before.

    calendar      bookings that stay
    may_shorten   True: one that promises nothing may become shorter
    """
    found = []
    for one in sorted(moved, key=lambda one: (-one.spec.priority, one.window.from_s, one.reservation_id)):
        asked, row = with_reservation(snapshot, one.name, one.spec)
        verdict = admit(region_at(asked, row, one, calendar), row)
        new = booking_of(one, row, verdict)
        after, slack = replace(one, **new.kept), ROUNDING * one.spec.capacity_rru
        is_shorter = after.short_rru > one.short_rru + slack and not may_shorten
        if not after.is_promise and (one.is_promise or is_shorter):
            return None
        calendar = calendar.with_scheduled(after)
        found.append(new)
    return tuple(found)


def booking_of(one: Windowed, row: int, verdict: Verdict) -> NewBooking:
    """Return the booking of a scheduled reservation, which is in row `row` of the verdict's plan."""
    rows = np.zeros(0, np.int32)
    if verdict.plan is not None:
        rows = np.flatnonzero(verdict.plan.target == row).astype(np.int32)
    if verdict.phase != "granted":
        return no_promise(one, rows, verdict.reason, verdict.message, verdict.numbers)
    joins = "It joins from {} on, and covers" if len(rows) == 1 else "They join from {} on, and cover"
    message = f"{counted_are(len(rows), 'server')} booked for it. {joins.format(moment_of(one.window.from_s))} "
    message += f"{one.spec.capacity_rru:g} RRU when it starts at {_start(one)}."
    return NewBooking(
        reservation_id=one.reservation_id,
        name=one.name,
        generation=one.generation,
        rows=rows,
        is_promise=True,
        reason="Booked",
        message=message,
        numbers=verdict.numbers,
    )


def no_promise(one: Windowed, rows: Indices, reason: str, why: str, numbers: Mapping[str, float]) -> NewBooking:
    """Return the booking of a scheduled reservation whose start is no promise.

    rows   the servers that are kept for it all the same, as rows of the snapshot
    why    the reason as a sentence
    """
    booked = f"{counted_are(len(rows), 'server')} booked for it so far."
    return NewBooking(
        reservation_id=one.reservation_id,
        name=one.name,
        generation=one.generation,
        rows=rows,
        is_promise=False,
        reason=reason,
        message=f"Its start at {_start(one)} is no promise: {why} {booked}",
        numbers=numbers,
    )


def beyond_horizon(one: Windowed, policy: RegionPolicy, verdict: Verdict | None = None) -> NewBooking:
    """Return the booking of a reservation that starts too far ahead: no server yet.

    verdict   the verdict if it began now; None: not known
    """
    assert one.spec.starts_at is not None
    horizon = timedelta(seconds=policy.booking_horizon_s)
    message = f"Starts at {moment(one.spec.starts_at)}, which is no promise yet: servers are booked for it from "
    message += f"{moment(one.spec.starts_at - horizon)} on, {counted(horizon / timedelta(days=1), 'day')} ahead."
    if verdict is not None:
        message += f" If it began now, it would be {verdict.phase}: {verdict.message}"
    return NewBooking(
        reservation_id=one.reservation_id,
        name=one.name,
        generation=one.generation,
        rows=np.zeros(0, np.int32),
        is_promise=False,
        reason=BEYOND_HORIZON,
        message=message,
        numbers={"booking_horizon_s": policy.booking_horizon_s},
    )


def moment_of(seconds: float) -> str:
    """Return a time in seconds since 1970 as people read it, in UTC."""
    return moment(datetime.fromtimestamp(seconds, UTC))


def _start(one: Windowed) -> str:
    return moment(one.spec.starts_at) if one.spec.starts_at is not None else "its start"


def _agreed(
    snapshot: FleetSnapshot,
    row: int,
    asking: Windowed,
    calendar: Calendar,
    verdict: Verdict,
    *,
    may_shorten: bool = False,
) -> Decision | None:
    """Return the decision with the bookings that it moves; None if one of these would be worse than before."""
    taken = _taken(row, asking, calendar, verdict)
    if not taken:
        return Decision(verdict=verdict)
    assert verdict.plan is not None
    after = calendar.without(*(one.name for one in taken))
    if asking.window.from_s > calendar.now_s:
        rows = np.flatnonzero(verdict.plan.target == row).astype(np.int32)
        after = after.with_scheduled(replace(asking, rows=rows))
    else:
        after = after.with_end(asking.name, asking.window.until_s)
        snapshot = replace(snapshot, servers=replace(snapshot.servers, target=verdict.plan.target))
    rebooked = rebook(snapshot, taken, after, may_shorten=may_shorten)
    return None if rebooked is None else Decision(verdict=verdict, rebooked=rebooked)


def _taken(row: int, asking: Windowed, calendar: Calendar, verdict: Verdict) -> tuple[Windowed, ...]:
    """Return the bookings of which the verdict takes a server."""
    if verdict.plan is None:
        return ()
    mine = verdict.plan.target == row
    return tuple(one for one in calendar.overlapping(asking.window) if mine[one.rows].any())


def _is_better(one: Verdict, other: Verdict) -> bool:
    if one.phase != other.phase:
        return one.phase == "granted"
    return one.numbers.get("short_rru", 0.0) < other.numbers.get("short_rru", 0.0)


def _refused(verdict: Verdict, taken: tuple[Windowed, ...]) -> Verdict:
    message = (
        f"Servers that it has are booked from before its end: {_named(taken)}. No other servers are free for that."
    )
    message += " Let it end by then, or ask an operator."
    numbers = {**verdict.numbers, "booked_from_s": min(one.window.from_s for one in taken)}
    return Verdict(phase="rejected", reason="BookedByOthers", message=message, numbers=numbers, plan=None)


def _with_bookings(verdict: Verdict, kept: Bools, others: tuple[Windowed, ...]) -> Verdict:
    """Return the verdict with the names of the bookings that keep the free servers `kept` (S,)."""
    keepers = tuple(one for one in others if kept[one.rows].any())
    return replace(verdict, message=f"{verdict.message} Free servers are booked {_named(keepers)}.")


def _named(some: tuple[Windowed, ...]) -> str:
    first = sorted(some, key=lambda one: one.window.from_s)[:_NAMED_MAX]
    listed = ", ".join(f"for {one.name} from {moment_of(one.window.from_s)} on" for one in first)
    return listed + (f" and {len(some) - len(first)} more" if len(some) > len(first) else "")
