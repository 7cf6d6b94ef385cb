"""The supply of a region: servers less buffers and retirements, with refreshed and delivered ones."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from libs.domain.region_supply import Delivery, ServerUnits, capacity_by_type, with_deliveries
from libs.domain.reservation import ReservationSpec
from libs.domain.retirement import RetirementKind, RetirementScope
from libs.store.fleet.retirements import announce_retirement
from libs.store.platform.refusals import NotFound
from libs.store.regions.region_supply import load_region_supply
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored

SURVIVES = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0, "hw-b": 2.0})
ALONE = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
BUFFER = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
LATER = NOW + timedelta(10)


@pytest.fixture(autouse=True)
def region(database):
    """Two MSBs with a rack of each type and four servers in each rack: hw-a has 00-03 and 08-11, hw-b the others."""
    held = {"server-00": "web", "server-01": "web", "server-04": "web", "server-08": "web", "server-09": "alone"}
    stored(
        database,
        region_image(
            racks_per_msb=2,
            hardware_types=("hw-a", "hw-b"),
            reservations={"web": SURVIVES, "alone": ALONE, "buffer": BUFFER},
            kind={"buffer": "shared_buffer"},
            current=held | {"server-10": "buffer"},
            down={"server-03"},
        ),
    )


def announce(database, scope, name, *, kind=RetirementKind.DECOMMISSION, due=LATER, **given):
    about = {"to_hardware_type": None, "back_at": None, "reason": "old", "actor": "olga", "now": NOW}
    with database.write() as tx:
        announce_retirement(tx, "west", scope=scope, scope_name=name, kind=kind, due_at=due, **about | given)


def supply(database, at=NOW, **given):
    with database.snapshot() as tx:
        return {one.hardware_type: one for one in load_region_supply(tx, "west", at=at, **given)}


def test_buffers_are_not_supply(database):
    found = supply(database)
    a, b = found["hw-a"], found["hw-b"]
    assert (a.servers, a.embedded_buffer, a.shared_buffer, a.usable) == (8, 2, 2, 4)
    assert (b.servers, b.embedded_buffer, b.shared_buffer, b.usable) == (8, 1, 0, 7)


def test_the_embedded_buffer_is_the_worst_domain_of_any_kind_that_is_survived(database):
    """web has three servers in msb-00, of which one is hw-b, and three hw-a in the block b0."""
    servers = {"server-00": "b0", "server-01": "b0", "server-08": "b0", "server-04": "b1"}
    stored(
        database,
        region_image(
            "east",
            racks_per_msb=2,
            hardware_types=("hw-a", "hw-b"),
            reservations={"web": replace(SURVIVES, rru={"hw-a": 1.0, "hw-b": 1.0}, survives_loss_of=("block",))},
            current=dict.fromkeys(servers, "web"),
            domains={"block": servers},
        ),
    )
    with database.snapshot() as tx:
        found = {one.hardware_type: one.embedded_buffer for one in load_region_supply(tx, "east", at=NOW)}
    assert found == {"hw-a": 2, "hw-b": 1}, "msb-00 has 00, 01 and 04; the block has as much, and MSBs come first"
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET survives_msb_loss = false WHERE survives_loss_of <> '{}'"))
        found = {one.hardware_type: one.embedded_buffer for one in load_region_supply(tx, "east", at=NOW)}
    assert found == {"hw-a": 3, "hw-b": 0}


def test_announced_retirements_leave_at_their_date(database):
    announce(database, RetirementScope.RACK, "rack-03")
    announce(database, RetirementScope.SERVER, "server-15")  # in that rack, and counted once
    assert supply(database)["hw-b"].retired == 0
    assert supply(database, at=LATER)["hw-b"].retired == 4
    assert supply(database, retired_until=LATER)["hw-b"].usable == 3
    announce(database, RetirementScope.MSB, "msb-01", due=LATER + timedelta(1))
    assert supply(database, at=LATER + timedelta(1))["hw-a"].retired == 4


def test_a_refresh_returns_as_another_type(database):
    back = LATER + timedelta(5)
    refresh = {"kind": RetirementKind.REFRESH, "to_hardware_type": "hw-a", "back_at": back}
    announce(database, RetirementScope.RACK, "rack-03", **refresh)
    away = supply(database, at=LATER)
    assert (away["hw-b"].retired, away["hw-a"].returned) == (4, 0)
    assert supply(database, at=back)["hw-a"].returned == 4


def test_deliveries_count_between_now_and_their_date(database):
    expected = [
        Delivery(region="west", hardware_type="hw-a", servers=3, due_at=LATER),
        Delivery(region="west", hardware_type="hw-c", servers=2, due_at=LATER),
        Delivery(region="east", hardware_type="hw-a", servers=9, due_at=LATER),
        Delivery(region="west", hardware_type="hw-a", servers=9, due_at=NOW),
    ]

    def usable(at):
        found = with_deliveries(supply(database).values(), expected, region="west", now=NOW, at=at)
        return {one.hardware_type: one.usable for one in found}

    assert usable(NOW) == {"hw-a": 4, "hw-b": 7}
    assert usable(LATER) == {"hw-a": 7, "hw-b": 7, "hw-c": 2}


def test_servers_become_capacity(database):
    units = [
        ServerUnits(server_type="hw-a", hardware_type="compute", units=10.0),
        ServerUnits(server_type="hw-b", hardware_type="compute", units=16.0),
        ServerUnits(server_type="hw-z", hardware_type="ssd", units=1.0),
    ]
    assert capacity_by_type(supply(database).values(), units) == {"compute": 4 * 10.0 + 7 * 16.0, "ssd": 0.0}


def test_an_unknown_region_is_an_error(database):
    with database.snapshot() as tx, pytest.raises(NotFound):
        load_region_supply(tx, "mars", at=NOW)
