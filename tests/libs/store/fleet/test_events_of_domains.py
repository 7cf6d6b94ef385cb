"""Events of a domain of a further kind: the servers that they take, now and when servers move between domains."""

import io
from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.inventory_diff import ImportMode, diff_inventory
from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import Unavailability, UnavailabilityEvent
from libs.interchange.inventory.servers_csv import load_csv
from libs.store.capacity.maintenance import load_ground
from libs.store.fleet.failure_record import load_spare_record
from libs.store.fleet.import_confirm import confirm_import
from libs.store.fleet.imports import propose_import
from libs.store.fleet.inventory_snapshot import load_known_servers
from libs.store.fleet.unavailability_events import end_event, find_scope, list_events, load_event, open_event
from libs.store.platform import audit
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import NotFound
from libs.store.platform.subject_names import load_subject_names
from libs.store.retention.of_regions import of_region
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.libs.store.fleet.test_unavailability_events import PLANNED, UNPLANNED, down

BLOCKS = {"block": {f"server-{k:02d}": f"block-{k % 3}" for k in range(7)}, "zone": {"server-00": "zone-0"}}
"""server-07 has no block. block-0 has the servers 0, 3 and 6 in three racks and both MSBs."""
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Two MSBs of two racks of two servers each; and another region with the same names."""
    stored(database, region_image("east", racks_per_msb=2, servers_per_rack=2, domains=BLOCKS))
    spare = {"spare": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)}
    kind = {"spare": "shared_buffer"}
    stored(database, region_image(racks_per_msb=2, servers_per_rack=2, domains=BLOCKS, reservations=spare, kind=kind))
    with database.write() as tx:
        return tx.execute(sa.text("SELECT region_id FROM regions WHERE name = 'west'")).scalar_one()


def report(
    tx: Transaction, name: str, scope: str = "block", kind: Unavailability = UNPLANNED, *, start=NOW, now=NOW
) -> UnavailabilityEvent:
    where = {"scope": scope, "scope_name": name, "kind": kind}
    return open_event(tx, "west", **where, reason="test", starts_at=start, ends_at=None, now=now, actor="watchdog")


def end(tx: Transaction, event: UnavailabilityEvent, now=NOW) -> None:
    end_event(tx, event.unavailability_event_id, generation=None, actor="watchdog", now=now)


def test_an_event_takes_the_servers_of_its_domain_and_gives_them_back(database: Database) -> None:
    with database.write() as tx:
        event = report(tx, "block-0")
        assert (event.scope, event.scope_name) == ("block", "block-0")
        assert [(e.scope, e.scope_name) for e in list_events(tx, "west").items] == [("block", "block-0")]
        assert down(tx) == [0, 3, 6]
        assert down(tx, region="east") == []
        end(tx, event)
        assert down(tx) == []
        subject = {"subject_kind": "unavailability_event", "subject_id": event.unavailability_event_id}
        opened, ended = audit.list_entries(tx, **subject).items
        assert (opened.action, ended.action) == ("open", "end")
        assert opened.after is not None
        assert (opened.after["scope"], opened.after["scope_name"]) == ("block", "block-0")


def test_two_events_of_one_server_end_with_the_last(database: Database) -> None:
    with database.write() as tx:
        block, rack = report(tx, "block-0"), report(tx, "rack-00", "rack")
        zone = report(tx, "zone-0", "zone", PLANNED)
        assert down(tx) == [0, 1, 3, 6]
        end(tx, block)
        assert (down(tx), down(tx, PLANNED)) == ([0, 1], [])
        end(tx, rack)
        assert (down(tx), down(tx, PLANNED)) == ([], [0]), "a failure outranks maintenance"
        end(tx, zone)
        assert down(tx, PLANNED) == []


def test_servers_that_an_import_moves_between_domains_follow_the_event(database: Database) -> None:
    with database.write() as tx:
        report(tx, "block-0")
    rows = ["server,datacenter,msb,rack,hardware_type,domain:block"]
    rows += ["server-00,dc-00,msb-00,rack-00,hw-a,block-1", "server-01,dc-00,msb-00,rack-00,hw-a,block-0"]
    inventory = load_csv(io.BytesIO("\n".join(rows).encode()), "list.csv")
    with database.write() as tx:
        there = load_known_servers(tx, "west")
        items = diff_inventory(there, inventory, ImportMode.MERGE)
        found = propose_import(tx, "west", there, inventory, items, mode=ImportMode.MERGE, proposed_by="olga", now=NOW)
        assert down(tx) == [0, 3, 6]
        confirm_import(tx, "west", found.import_id, actor="olga", now=NOW)
        assert down(tx) == [1, 3, 6], "in the same transaction"


def test_an_event_of_a_domain_without_servers_waits_for_some(database: Database, region_id: int) -> None:
    with database.write() as tx:
        tx.execute(sa.text("DELETE FROM server_domains WHERE kind = 'zone'"))
        event = report(tx, "zone-0", "zone")
        assert (down(tx), load_event(tx, event.unavailability_event_id).ended_at) == ([], None)
        ground = load_ground(tx, region_id, "zone", find_scope(tx, region_id, "zone", "zone-0"), now=NOW)
        assert list(ground.asked) == [0, 0]
        enter = """INSERT INTO server_domains (region_id, server_id, kind, domain_id)
                   SELECT region_id, server_id, 'zone', :domain_id FROM servers
                   WHERE region_id = :region_id AND name = 'server-05'"""
        domain_id = find_scope(tx, region_id, "zone", "zone-0")
        tx.execute(sa.text(enter), {"domain_id": domain_id, "region_id": region_id})
        end(tx, report(tx, "block-1"))
        assert down(tx) == [5]


@pytest.mark.parametrize(("scope", "name"), [("block", "zone-0"), ("room", "block-0"), ("domain", "block-0")])
def test_a_domain_is_one_of_its_kind(database: Database, scope: str, name: str) -> None:
    with database.write() as tx, pytest.raises(NotFound, match=f"{scope} west/{name}"):
        report(tx, name, scope)


def test_the_ground_of_maintenance_counts_the_servers_of_domains(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event = report(tx, "block-0", kind=PLANNED)
        ground = load_ground(tx, region_id, "block", find_scope(tx, region_id, "block", "block-1"), now=NOW)
        assert (list(ground.in_maintenance), list(ground.asked)) == ([2, 1], [1, 1])  # 0 and 3, 6; 1, 4
        assert ground.is_domain
        (underway,) = ground.underway
        assert (underway.unavailability_event_id, underway.msbs) == (event.unavailability_event_id, {0, 1})
        again = load_ground(tx, region_id, "block", find_scope(tx, region_id, "block", "block-0"), now=NOW)
        assert list(again.asked) == [0, 0]


def test_a_domain_in_several_racks_is_no_failure_of_single_servers(database: Database) -> None:
    with database.write() as tx:
        later = NOW + HOUR
        for name, scope in (("block-0", "block"), ("zone-0", "zone"), ("server-07", "server")):
            report(tx, name, scope, start=later, now=later)
        found = load_spare_record(tx, "west", now=later + HOUR)
        assert list(found.failures) == [2], "zone-0 has one server, as a rack may"
        assert list(found.down) == [1], "all of block-0 is lost, with the server of zone-0"


def test_a_failure_that_has_not_begun_hides_no_server_that_is_down(database: Database) -> None:
    with database.write() as tx:
        later = NOW + HOUR
        report(tx, "server-00", "server", start=later, now=later)
        report(tx, "block-0", start=later + 2 * HOUR, now=later)
        assert list(load_spare_record(tx, "west", now=later + HOUR).down) == [1]


def test_what_has_ended_is_named_and_forgotten(database: Database, region_id: int) -> None:
    with database.write() as tx:
        event, other = report(tx, "block-0"), report(tx, "block-1")
        subject = ("unavailability_event", event.unavailability_event_id)
        assert load_subject_names(tx, [subject]) == {subject: "block-0"}
        end(tx, event)
        forget = of_region("west")["unavailability_events"]
        assert forget(tx, before=NOW + HOUR, most=10) == 1
        assert [e.unavailability_event_id for e in list_events(tx, "west").items] == [other.unavailability_event_id]
        assert find_scope(tx, region_id, "block", "block-0"), "the domain stays"
