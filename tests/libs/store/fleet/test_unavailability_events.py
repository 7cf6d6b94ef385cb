from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.unavailability import Unavailability, UnavailabilityEvent, UnavailabilityScope
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.unavailability_events import (
    end_event,
    list_events,
    load_event,
    open_event,
    refresh_unavailability,
)
from libs.store.platform import audit
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import NotFound
from tests.builders.race import meanwhile
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored

HOUR = timedelta(hours=1)
PLANNED, UNPLANNED = Unavailability.PLANNED, Unavailability.UNPLANNED


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Two datacenters of one MSB with two racks of two servers; server-07 was imported as down. And another region."""
    stored(database, region_image("east", datacenters=2, racks_per_msb=2, servers_per_rack=2))
    stored(database, region_image(datacenters=2, racks_per_msb=2, servers_per_rack=2, down={"server-07"}))
    with database.write() as tx:
        return tx.execute(sa.text("SELECT region_id FROM regions WHERE name = 'west'")).scalar_one()


def report(
    tx: Transaction, scope: str, name: str, kind: Unavailability = UNPLANNED, *, start=NOW, end=None, now=NOW
) -> UnavailabilityEvent:
    where = {"scope": UnavailabilityScope(scope), "scope_name": name}
    when = {"starts_at": start, "ends_at": end, "now": now}
    return open_event(tx, "west", **where, kind=kind, reason="test", **when, actor="watchdog")


def down(tx: Transaction, kind: Unavailability = UNPLANNED, region: str = "west") -> list[int]:
    query = """SELECT right(servers.name, 2)::int FROM servers JOIN regions USING (region_id)
               WHERE regions.name = :region AND unavailability = :kind ORDER BY 1"""
    return list(tx.execute(sa.text(query), {"kind": kind.value, "region": region}).scalars())


@pytest.mark.parametrize(
    ("scope", "name", "servers"),
    [
        ("server", "server-02", [2]),
        ("rack", "rack-01", [2, 3]),
        ("msb", "msb-00", [0, 1, 2, 3]),
        ("datacenter", "dc-00", [0, 1, 2, 3]),
    ],
)
def test_an_event_takes_out_what_it_is_about(database: Database, scope: str, name: str, servers: list[int]) -> None:
    with database.write() as tx:
        event = report(tx, scope, name)
        assert (event.scope, event.scope_name, event.region, event.ended_at) == (scope, name, "west", None)
        assert down(tx) == [*servers, 7]
        ended = end_event(tx, event.unavailability_event_id, generation=event.generation, actor="watchdog", now=NOW)
        assert ended.ended_at == NOW
        assert down(tx) == [7]
        assert down(tx, region="east") == []
        subject = {"subject_kind": "unavailability_event", "subject_id": event.unavailability_event_id}
        assert [entry.action for entry in audit.list_entries(tx, **subject).items] == ["open", "end"]


def test_what_is_down_is_not_available_to_a_solve_and_what_is_in_maintenance_is(database: Database) -> None:
    with database.write() as tx:
        report(tx, "server", "server-00")
        report(tx, "server", "server-01", PLANNED)
    servers = read(database).servers
    assert list(servers.available) == [False, *[True] * 6, False]
    assert list(servers.drained) == [False, True, *[False] * 6]
    assert list(servers.lasting) == [False, False, *[True] * 5, False]  # server-01 is free, and cannot join anything


def test_unplanned_outranks_planned_until_it_ends(database: Database) -> None:
    with database.write() as tx:
        report(tx, "datacenter", "dc-00", PLANNED)
        outage = report(tx, "rack", "rack-00")
        assert (down(tx), down(tx, PLANNED)) == ([0, 1, 7], [2, 3])
        end_event(tx, outage.unavailability_event_id, generation=None, actor="watchdog", now=NOW)
        assert (down(tx), down(tx, PLANNED)) == ([7], [0, 1, 2, 3])


def test_an_announced_event_begins_and_ends_with_the_clock(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = report(tx, "rack", "rack-00", PLANNED, start=NOW + HOUR, end=NOW + 2 * HOUR)
        seen = []
        for minutes in (0, 59, 60, 119, 120, 180):
            refresh_unavailability(tx, region_id, now=NOW + timedelta(minutes=minutes))
            seen.append(down(tx, PLANNED))
        assert seen == [[], [], [0, 1], [0, 1], [], []]
        assert load_event(tx, event.unavailability_event_id).ended_at == NOW + 2 * HOUR


def test_a_refresh_that_changes_nothing_raises_no_generation(database: Database, region_id: int) -> None:
    before = read(database).servers.generation.tolist()
    with database.write() as tx:
        assert refresh_unavailability(tx, region_id, now=NOW) == 0
    assert read(database).servers.generation.tolist() == before


def test_an_event_ends_once(database: Database) -> None:
    with database.write() as tx:
        event_id = report(tx, "rack", "rack-00").unavailability_event_id
        with pytest.raises(StaleGeneration):
            end_event(tx, event_id, generation=5, actor="watchdog", now=NOW)
        ended = end_event(tx, event_id, generation=1, actor="watchdog", now=NOW)
        assert end_event(tx, event_id, generation=None, actor="watchdog", now=NOW + HOUR) == ended
        with pytest.raises(NotFound, match="no unavailability event 999"):
            end_event(tx, 999, generation=None, actor="watchdog", now=NOW)


def test_events_are_listed_open_and_ended(database: Database) -> None:
    with database.write() as tx:
        first = report(tx, "rack", "rack-00")
        report(tx, "rack", "rack-01", PLANNED)
        end_event(tx, first.unavailability_event_id, generation=None, actor="watchdog", now=NOW)
        names = {o: [e.scope_name for e in list_events(tx, "west", is_open=o).items] for o in (None, True, False)}
        since = [
            [e.scope_name for e in list_events(tx, "west", ended_after=NOW - timedelta(seconds=late)).items]
            for late in (1, 0)
        ]
    assert names == {
        None: ["server-07", "rack-00", "rack-01"],
        True: ["server-07", "rack-01"],
        False: ["rack-00"],
    }
    assert since == [["rack-00"], []]


def test_nothing_is_reported_about_what_is_not_there(database: Database) -> None:
    with database.write() as tx, pytest.raises(NotFound, match="no rack west/rack-99"):
        report(tx, "rack", "rack-99")


def test_two_reports_about_one_server_at_once_both_count(database: Database) -> None:
    outcome, _ = meanwhile(
        database, lambda tx: report(tx, "server", "server-00"), lambda tx: report(tx, "rack", "rack-00", PLANNED)
    )
    assert isinstance(outcome, UnavailabilityEvent)
    with database.write() as tx:
        assert (down(tx), down(tx, PLANNED)) == ([0, 7], [1])
