"""Drains of spare servers: how many of a hardware type must stay, by the servers that are there."""

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.domain.unavailability import EventState
from libs.store.capacity.drain_ground import load_drain_ground
from libs.store.fleet.regions import load_region
from libs.store.fleet.unavailability_events import load_event
from libs.store.platform.database import Database
from services.broker.ask_maintenance import MaintenanceRefused
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.services.broker.test_ask_maintenance import end, lose, maintained
from tests.services.broker.test_drain_domains import ask

BLOCKS = {"b0": (0, 1)}
SPARE = (0, 1, 2, 16, 17)


@pytest.fixture(autouse=True)
def region_id(database: Database) -> int:
    """Two MSBs of four racks of four servers. A shared buffer has three spare servers in rack-00 and two in rack-04."""
    image = region_image(
        racks_per_msb=4,
        servers_per_rack=4,
        reservations={"spare": ReservationSpec(capacity_rru=5, rru={"hw-a": 1.0}, survives_msb_loss=False)},
        kind={"spare": "shared_buffer"},
        current={f"server-{k:02d}": "spare" for k in SPARE},
        domains={"block": {f"server-{k:02d}": name for name, of in BLOCKS.items() for k in of}},
    )
    stored(database, image)
    with database.write() as tx:
        return load_region(tx, "west").region_id


def test_a_drain_that_takes_most_spare_servers_of_a_type_is_refused(database: Database) -> None:
    with database.write() as tx:
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "rack-00", scope="rack")
        answer = refused.value.answer
        assert (answer.reason, answer.short_rru) == ("TooFewSpares", {})
        assert answer.message.endswith("left to replace lost ones: 2 of 5 of hw-a, where 3 must stay")
        assert maintained(tx) == []
        assert ask(tx, "rack-04", scope="rack").state is EventState.ALLOWED, "two of five"


def test_a_schedule_promises_what_a_drain_would_get(database: Database) -> None:
    with database.write() as tx:
        lose(tx, "server-02")
        ask(tx, "server-00", scope="server")
    with database.snapshot() as tx:
        ground = load_drain_ground(tx, "west", racks=["rack-04", "rack-00"], msbs=["msb-00"], now=NOW)
    assert list(ground.rack) == ["rack-00", "rack-01", "rack-02", "rack-03", "rack-04"]
    assert (list(ground.spare_type), list(ground.spare_servers)) == (["hw-a"], [4]), "those in maintenance come back"
    assert [int(one) for one in ground.spare_gone[:, 0]] == [2, 0, 0, 0, 2]


def test_a_spare_server_that_retires_is_no_longer_there(database: Database) -> None:
    with database.write() as tx:
        retire = """INSERT INTO retirements (region_id, scope, rack_id, kind, reason, due_at, created_at)
                    SELECT region_id, 'rack', rack_id, 'decommission', 'old', :now, :now FROM racks
                    WHERE name = 'rack-04'"""
        tx.execute(sa.text(retire), {"now": NOW})
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "b0")
        assert "1 of 3 of hw-a, where 2 must stay" in refused.value.answer.message


def test_what_is_in_maintenance_already_counts_until_it_ends(database: Database, region_id: int) -> None:
    with database.write() as tx:
        first, second = ask(tx, "server-00", scope="server"), ask(tx, "server-01", scope="server")
        third = ask(tx, "server-02", scope="server")
        assert third.answer is not None
        assert (third.state, third.answer.reason) == (EventState.QUEUED, "TooFewSpares")
        assert third.answer.waits_for == (first.unavailability_event_id, second.unavailability_event_id)
        end(tx, first, region_id)
        assert load_event(tx, third.unavailability_event_id).state is EventState.ALLOWED
        assert maintained(tx) == [1, 2]


def test_spare_servers_that_are_down_or_on_their_way_out_are_no_longer_there(database: Database) -> None:
    with database.write() as tx:
        lose(tx, "server-16")
        tx.execute(sa.text("UPDATE servers SET target_reservation_id = NULL WHERE name = 'server-17'"))
        with pytest.raises(MaintenanceRefused) as refused:
            ask(tx, "b0")
        assert "1 of 3 of hw-a, where 2 must stay" in refused.value.answer.message
        assert ask(tx, "b0", override="agreed").state is EventState.ALLOWED
