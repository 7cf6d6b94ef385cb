"""Bookings: which servers a reservation gets in its window, among others that begin and end."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from libs.domain.calendar import Calendar, Windowed, window_of
from libs.domain.fleet import FREE, TargetPlan
from libs.domain.policy import RegionPolicy
from libs.domain.reservation import ReservationSpec
from libs.domain.what_if import with_reservation
from libs.plan_check.check import check_plan
from libs.ras.bookings import booking_of, decide
from libs.ras.solve import plan_target_bindings
from tests.builders.region import fleet_snapshot

NOW = datetime(2026, 11, 1, tzinfo=UTC)
POLICY = RegionPolicy()


def at(days: float | None) -> datetime | None:
    return None if days is None else NOW + timedelta(days=days)


def spec(capacity: float, starts: float | None = None, ends: float | None = None, **more) -> ReservationSpec:
    values = {"rru": {"hw-a": 1.0}, "survives_msb_loss": False} | more
    return ReservationSpec(capacity_rru=capacity, starts_at=at(starts), ends_at=at(ends), **values)


def windowed(name: str, wanted: ReservationSpec, rows=(), *, begun: bool = False, **more) -> Windowed:
    window = window_of(wanted, POLICY, now=NOW, begun=begun)
    rows = np.array(rows, np.int32)
    return Windowed(reservation_id=1, name=name, generation=1, spec=wanted, window=window, rows=rows, **more)


def calendar(*scheduled: Windowed, **ends_s: float) -> Calendar:
    return Calendar(now_s=NOW.timestamp(), ends_s=ends_s, scheduled=scheduled)


def decided(snapshot, one: Windowed, others: Calendar):
    asked, row = with_reservation(snapshot, one.name, one.spec)
    found = decide(asked, row, one, others)
    return found, booking_of(one, row, found.verdict)


def test_no_server_serves_two_reservations_at_one_time() -> None:
    snapshot = fleet_snapshot()  # eight servers
    first = windowed("first", spec(5, 1, 3), range(5), is_promise=True, short_rru=0.0)
    _, beside = decided(snapshot, windowed("beside", spec(3, 2, 4)), calendar(first))
    assert (beside.is_promise, beside.reason, beside.rows.tolist()) == (True, "Booked", [5, 6, 7])
    _, short = decided(snapshot, windowed("short", spec(4, 2, 4)), calendar(first))
    assert (short.is_promise, len(short.rows), short.numbers["short_rru"]) == (False, 3, 1)
    assert short.numbers["booked_servers"] == 5
    assert "Free servers are booked for first from 2026-11-01 23:00 UTC on." in short.message
    _, later = decided(snapshot, windowed("later", spec(8, 4, 5)), calendar(first))
    assert (later.is_promise, len(later.rows)) == (True, 8)


def test_a_window_begins_before_its_start_by_the_lead() -> None:
    snapshot = fleet_snapshot()
    first = windowed("first", spec(8, 1, 3), range(8), is_promise=True, short_rru=0.0)
    _, soon = decided(snapshot, windowed("soon", spec(1, 3 + 0.5 / 24)), calendar(first))
    assert not soon.is_promise
    _, after = decided(snapshot, windowed("after", spec(1, 3 + 1 / 24)), calendar(first))
    assert after.is_promise


def test_servers_of_a_reservation_that_ends_before_are_booked() -> None:
    held = dict.fromkeys(["server-00", "server-01", "server-02", "server-03"], "old")
    snapshot = fleet_snapshot(reservations={"old": spec(4)}, current=held)
    ends_s = at(2).timestamp()
    _, before = decided(snapshot, windowed("web", spec(8, 2)), calendar(old=ends_s))
    _, after = decided(snapshot, windowed("web", spec(8, 2 + 1 / 24)), calendar(old=ends_s))
    assert [(one.is_promise, len(one.rows)) for one in (before, after)] == [(False, 4), (True, 8)]


def test_servers_that_leave_or_are_down_are_not_booked_and_maintenance_ends() -> None:
    snapshot = fleet_snapshot(down={"server-00"}, leaving={"server-01"}, maintained={"server-02"})
    _, far = decided(snapshot, windowed("far", spec(6, 10)), calendar())
    assert (far.is_promise, far.rows.tolist()) == (True, [2, 3, 4, 5, 6, 7])
    _, near = decided(snapshot, windowed("near", spec(6, 0.5)), calendar())
    assert (near.is_promise, near.rows.tolist()) == (False, [3, 4, 5, 6, 7])


def test_a_promise_survives_the_loss_of_an_msb() -> None:
    """Six of eight servers remain without one of four MSBs, and five if one more server is booked."""
    snapshot = fleet_snapshot(msbs=4, servers_per_rack=2)
    web = windowed("web", spec(6, 1, survives_msb_loss=True))
    _, whole = decided(snapshot, web, calendar())
    assert (whole.is_promise, len(whole.rows)) == (True, 8)
    _, short = decided(snapshot, web, calendar(windowed("one", spec(1, 1), [0], is_promise=True, short_rru=0.0)))
    assert (short.is_promise, short.numbers["short_rru"]) == (False, 1)


def test_a_request_takes_booked_servers_if_it_ends_before() -> None:
    snapshot = fleet_snapshot()
    launch = windowed("launch", spec(6, 10), range(6), is_promise=True, short_rru=0.0)
    brief, _ = decided(snapshot, windowed("brief", spec(8, None, 9)), calendar(launch))
    assert (brief.verdict.phase, brief.rebooked) == ("granted", ())
    lasting, _ = decided(snapshot, windowed("lasting", spec(8)), calendar(launch))
    assert lasting.verdict.phase == "degraded"
    assert (lasting.verdict.plan.target == len(snapshot.reservations)).sum() == 2
    said = "6 further free servers are booked for reservations that have not begun."
    assert said in lasting.verdict.message
    assert "Free servers are booked for launch from 2026-11-10 23:00 UTC on." in lasting.verdict.message


def test_a_booking_moves_if_other_servers_do_as_well() -> None:
    """Only hw-a serves the request. The booking has all of these, and could have hw-b."""
    snapshot = fleet_snapshot(hardware_types=("hw-a", "hw-b"))
    launch = windowed("launch", spec(4, 10, rru={"hw-a": 1.0, "hw-b": 1.0}), range(4), is_promise=True, short_rru=0.0)
    found, _ = decided(snapshot, windowed("web", spec(3)), calendar(launch))
    assert found.verdict.phase == "granted"
    [moved] = found.rebooked
    assert moved.is_promise
    assert not set(moved.rows.tolist()) & set(np.flatnonzero(found.verdict.plan.target == 0).tolist())
    tight, _ = decided(snapshot, windowed("web", spec(4)), calendar(replace(launch, spec=spec(4, 10))))
    assert (tight.verdict.phase, tight.rebooked) == ("degraded", ())


def test_a_start_that_promises_nothing_gives_way_to_a_promise_and_to_no_request() -> None:
    """Eight servers. The promise lost one of its three, and the start that lacks three of eight has the other five."""
    snapshot = fleet_snapshot(down={"server-00"})
    large = windowed("large", spec(8, 2), range(3, 8), short_rru=3.0)
    small = windowed("small", spec(3, 1), range(3), is_promise=True, short_rru=0.0)
    kept, booking = decided(snapshot, small, calendar(large))
    assert (booking.is_promise, len(booking.rows)) == (True, 3)
    [shorter] = kept.rebooked
    assert (shorter.is_promise, len(shorter.rows), shorter.numbers["short_rru"]) == (False, 4, 4.0)
    assert not set(shorter.rows.tolist()) & set(booking.rows.tolist())
    asked, short = decided(snapshot, replace(small, is_promise=False, short_rru=np.inf), calendar(large))
    assert (short.is_promise, asked.rebooked) == (False, ())
    promised = replace(large, spec=spec(5, 2), is_promise=True, short_rru=0.0)
    equal, broken = decided(snapshot, small, calendar(promised))
    assert (broken.is_promise, equal.rebooked) == (False, ())


def test_an_extension_over_a_booking_is_refused_unless_the_booking_can_move() -> None:
    held = dict.fromkeys(["server-00", "server-01", "server-02", "server-03"], "old")
    snapshot = fleet_snapshot(reservations={"old": spec(4, ends=5)}, current=held)
    launch = windowed("launch", spec(6, 10), range(6), is_promise=True, short_rru=0.0)
    known = calendar(launch, old=at(5).timestamp())
    longer, _ = decided(snapshot, windowed("old", spec(4, ends=20), begun=True), known)
    assert (longer.verdict.phase, longer.verdict.reason) == ("rejected", "BookedByOthers")
    assert "for launch from 2026-11-10 23:00 UTC on" in longer.verdict.message
    within, _ = decided(snapshot, windowed("old", spec(4, ends=9), begun=True), known)
    assert (within.verdict.phase, within.rebooked) == ("granted", ())
    small = calendar(replace(launch, spec=spec(4, 10), rows=np.arange(4, dtype=np.int32)), old=at(5).timestamp())
    moved, _ = decided(snapshot, windowed("old", spec(4), begun=True), small)
    assert moved.verdict.phase == "granted"
    assert moved.rebooked[0].rows.tolist() == [4, 5, 6, 7]


def test_a_booking_that_is_decided_again_keeps_its_servers() -> None:
    snapshot = fleet_snapshot(down={"server-06"})
    again = windowed("web", spec(3, 1), [2, 5, 6], is_promise=True, short_rru=0.0)
    _, found = decided(snapshot, again, calendar())
    assert found.is_promise
    assert {2, 5} < set(found.rows.tolist())
    assert 6 not in found.rows
    _, less = decided(snapshot, replace(again, spec=spec(1, 1)), calendar())
    assert (len(less.rows), set(less.rows.tolist()) < {2, 5}) == (1, True)


@pytest.mark.parametrize("fix_first", [True, False])
def test_solves_leave_booked_servers_alone(fix_first: bool) -> None:
    """`web` lacks four servers. The free ones are booked but for one, and so is one of its own."""
    booked = {"server-00", *(f"server-{n:02d}" for n in range(1, 7))}
    snapshot = fleet_snapshot(
        reservations={"web": spec(5), "other": spec(0.5)},
        current={"server-00": "web"},
        booked=booked,
        policy=RegionPolicy(fix_first=fix_first),
    )
    plan = plan_target_bindings(snapshot).plan
    assert plan.target.tolist()[:7] == [0, *[FREE] * 6]
    assert check_plan(snapshot, plan) == []
    wrong = plan.target.copy()
    wrong[1] = 0
    found = check_plan(snapshot, TargetPlan(target=wrong, parent_plan_id=None))
    assert "Booked" in [violation.reason for violation in found]
