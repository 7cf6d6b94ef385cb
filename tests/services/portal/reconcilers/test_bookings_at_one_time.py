"""Bookings that meet a kill, another decision, or a server that changes, on a real database."""

from contextlib import suppress
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.calendar import NewBooking
from libs.reconcile.crash import crash_points_heard
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.bookings import record_bookings
from libs.store.fleet.snapshot import load_fleet_snapshot
from services.portal.reconcilers import keep_bookings
from services.portal.reconcilers.assess_capacity_request import AssessCapacityRequest
from tests.services.portal.conftest import create
from tests.services.portal.reconcilers.windows import ANY, DAY_S, ask, booked, booked_servers, get, window

Json = dict[str, object]


class Killed(BaseException):
    """A worker dies. No handler catches it."""


@pytest.mark.parametrize("point", ["portal.bookings.before", "portal.bookings.after"])
def test_a_worker_that_dies_while_it_books_loses_nothing(owner, database, clock, tick, point) -> None:
    ask(owner, database, clock, create("launch", window(clock, 10, None, capacity_rru=24, **ANY)))
    first = booked_servers(database)
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'unplanned' WHERE name = :name"), {"name": first[0]})
    died = []

    def die(name: str) -> None:
        if name == point:
            died.append(name)
            raise Killed

    with suppress(Killed), crash_points_heard(die):
        tick()
    assert died == [point]
    assert len(booked_servers(database)) == 32
    tick()
    again = booked_servers(database)
    assert (len(again), first[0] in again) == (32, False)


def judged_while_launch_is_booked(owner, database, clock, monkeypatch, asked: Json) -> str:
    """Judge a request while a booking of "launch" is stored between the judgement and its commit. Return its URL."""
    launch = create("launch", window(clock, 6, None, capacity_rru=30, **ANY))
    urls = [owner.post("/v1/capacity-requests", json=one).headers["location"] for one in (asked, launch)]
    request, booking = (AssessCapacityRequest(database, clock, int(url.rsplit("/", 1)[1])) for url in urls)
    accept, raced = AssessCapacityRequest._accept, []

    def race(self, request, case, judgement):
        if not raced:
            raced.append(True)
            booking.reconcile()
        return accept(self, request, case, judgement)

    monkeypatch.setattr(AssessCapacityRequest, "_accept", race)
    request.reconcile()
    assert booked(owner, "launch")[0] == "True"
    return urls[0]


def test_an_extension_and_a_booking_at_one_time_do_not_both_win(owner, database, clock, monkeypatch) -> None:
    ask(owner, database, clock, create("old-one", window(clock, None, 5, capacity_rru=24, **ANY)))
    resize = {"kind": "resize", "region": "west", "reservation": "old-one"}
    extended = {"spec": {"ends_at": (clock.now() + timedelta(days=9)).isoformat()}}
    url = judged_while_launch_is_booked(owner, database, clock, monkeypatch, resize | extended)
    assert owner.get(url).json()["status"]["reason"] == "BookedByOthers"


def test_a_grant_that_read_the_servers_before_they_were_booked_is_judged_again(
    owner, database, clock, monkeypatch
) -> None:
    lasting = create("lasting", window(clock, None, None, capacity_rru=30, **ANY))
    url = judged_while_launch_is_booked(owner, database, clock, monkeypatch, lasting)
    assert owner.get(url).json()["status"]["phase"] == "degraded"


def test_bookings_of_a_changed_server_are_not_stored(owner, database, clock) -> None:
    ask(owner, database, clock, create("launch", window(clock, 40, None, capacity_rru=2, **ANY)))
    launch = get(owner, "launch")
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, "west")
    of = {"reservation_id": launch["reservation_id"], "name": "launch", "generation": launch["generation"]}
    told = {"is_promise": True, "reason": "Booked", "message": "", "numbers": {}}
    new = NewBooking(**of, **told, rows=np.array([5], np.int32))
    with database.write() as tx:
        tx.execute(sa.text("UPDATE servers SET unavailability = 'planned' WHERE server_id = :id"), {"id": 6})
    with pytest.raises(StaleGeneration), database.write() as tx:
        record_bookings(tx, snapshot, [new], now=clock.now())


def test_a_server_that_changes_meanwhile_delays_its_booking_alone(
    owner, database, clock, tick, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, kind in (("first", "hw-a"), ("second", "hw-b")):
        ask(owner, database, clock, create(name, window(clock, 40, None, capacity_rru=4, rru={kind: 1})))
    clock.sleep(5 * DAY_S)
    decide, names = keep_bookings._booked, []

    def first_is_late(snapshot, one, others):
        new = decide(snapshot, one, others)
        names.append(one.name)
        if len(names) == 1:
            change = sa.text("UPDATE servers SET unavailability = 'planned' WHERE server_id = ANY(:ids)")
            with database.write() as tx:
                tx.execute(change, {"ids": [int(id) for id in snapshot.servers.id[new[0].rows[:1]]]})
        return new

    monkeypatch.setattr(keep_bookings, "_booked", first_is_late)
    assert tick() == 1
    assert {name: booked(owner, name)[0] for name in names} == dict(zip(names, ("False", "True"), strict=True))
    assert tick() == 1
    assert booked(owner, names[0])[0] == "True"
