"""Keep the bookings of a region true: replace servers that fail or leave, and book what could not be booked before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from libs.domain.calendar import Calendar, NewBooking, Windowed, is_beyond_horizon
from libs.domain.cost_units import units_of_types
from libs.domain.fleet import FleetSnapshot
from libs.domain.what_if import with_reservation
from libs.ras.bookings import MAINTENANCE_S_MAX, beyond_horizon, booking_of, decide, no_promise
from libs.reconcile.clock import Clock
from libs.reconcile.crash import crash_point
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.bookings import record_bookings
from libs.store.capacity.calendar import list_bookings_due, load_calendar
from libs.store.capacity.cost_units import load_cost_table
from libs.store.capacity.quotas import load_quota
from libs.store.capacity.reservations import load_reservation
from libs.store.fleet.regions import load_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform import audit
from libs.store.platform.certain_time import certain_now
from libs.store.platform.database import Database, Transaction
from services.portal.quota_rule import exceeds_quota, excess_in_words

ACTOR = "portal.bookings"
AT_ONCE_MAX = 50
"""Largest number of bookings per run. The next run takes the rest."""
RETRY = timedelta(minutes=15)
"""Time between two looks at a booking that is short."""
CHECK = timedelta(hours=1)
"""Time between two looks at a booking that is a promise. A new catalogue, or a server that stands elsewhere, may have
broken it.
"""


@dataclass(frozen=True, slots=True)
class KeepBookings:
    """Decides again on the bookings that are short, new within the horizon, or have lost a server. Idempotent.

    A booking waits for the next run if another writer changed one of its servers or reservations meanwhile.
    """

    database: Database
    clock: Clock
    region: str

    def reconcile(self) -> int:
        """Return the number of bookings that were decided."""
        with self.database.snapshot() as tx:
            now, region = certain_now(tx, self.clock), load_region(tx, self.region)
            due = list_bookings_due(
                tx,
                region.region_id,
                region.policy,
                now=now,
                looked_before=now - RETRY,
                checked_before=now - CHECK,
                maintained=now + timedelta(seconds=MAINTENANCE_S_MAX),
                limit=AT_ONCE_MAX,
            )
            if not due:
                return 0
            snapshot = load_fleet_snapshot(tx, self.region)
            calendar = load_calendar(tx, snapshot, now=now)
        decided = 0
        for reservation_id in due:
            one = next(one for one in calendar.scheduled if one.reservation_id == reservation_id)
            assert one.spec.starts_at is not None
            promised = one.spec.starts_at if one.is_promise else None
            if is_beyond_horizon(one.spec.starts_at, region.policy, now=now, promised=promised):
                new: tuple[NewBooking, ...] = (beyond_horizon(one, region.policy),)
            else:
                new = _booked(snapshot, one, calendar.without(one.name))
            try:
                self._commit(snapshot, calendar, new)
            except StaleGeneration:
                continue  # a server has changed since it was read, and the next run looks again
            calendar, decided = calendar.with_bookings(new), decided + 1
        return decided

    def _commit(self, snapshot: FleetSnapshot, calendar: Calendar, new: tuple[NewBooking, ...]) -> None:
        """Store bookings that depend on each other. Only a change is worth an audit entry."""
        before = {one.name: one for one in calendar.scheduled}
        with self.database.write() as tx:
            now = certain_now(tx, self.clock)
            new = _within_quota(tx, snapshot, before[new[0].name], new)
            ids = record_bookings(tx, snapshot, new, now=now)
            for reservation_id, one in zip(ids, new, strict=True):
                was = before[one.name]
                if one.is_promise == was.is_promise and np.array_equal(one.rows, was.rows):
                    continue
                audit.append(
                    tx,
                    actor=ACTOR,
                    action="book",
                    subject_kind="reservation",
                    subject_id=reservation_id,
                    now=now,
                    before={"servers": len(was.rows), "is_promise": was.is_promise},
                    after={"servers": len(one.rows), "is_promise": one.is_promise, "numbers": dict(one.numbers)},
                    reason=one.reason,
                )
            crash_point("portal.bookings.before")
        crash_point("portal.bookings.after")


def _within_quota(
    tx: Transaction, snapshot: FleetSnapshot, one: Windowed, new: tuple[NewBooking, ...]
) -> tuple[NewBooking, ...]:
    """Return the bookings `new`, of which the first is for `one`. If it would exceed the quota of the owner, return one
    that keeps no further server. The quota is locked until the transaction ends.

    The request was accepted by the most that it would probably hold, and hard limits may make it hold more. A promise
    stays: its quota was asked when it was made.
    """
    booking = new[0]
    if one.is_promise or one.reservation_id is None:
        return new
    region, owner = load_region(tx, snapshot.region), load_reservation(tx, one.reservation_id).owner
    quota = load_quota(tx, snapshot.region, owner, before=0, except_names=[one.name], lock=True)
    units = units_of_types(snapshot, load_cost_table(tx, region))
    asked = float(units[snapshot.servers.hardware_type[booking.rows]].sum())
    if not exceeds_quota(quota, asked=asked, had=quota.own_cost_units):
        return new
    why, numbers = excess_in_words(quota, asked=asked)
    return (no_promise(one, np.intersect1d(one.rows, booking.rows), "QuotaExceeded", why, numbers),)


def _booked(snapshot: FleetSnapshot, one: Windowed, others: Calendar) -> tuple[NewBooking, ...]:
    """Return the booking of one reservation, and those of others that move for it."""
    asked, row = with_reservation(snapshot, one.name, one.spec)
    decision = decide(asked, row, one, others)
    return (booking_of(one, row, decision.verdict), *decision.rebooked)
