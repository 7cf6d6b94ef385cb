"""Limits of uplinks in the database: what an import brings, how they change, and what racks send."""

from dataclasses import replace

import numpy as np
import pytest

from libs.domain.reservation import ReservationSpec
from libs.domain.uplinks import by_rack, sent_gbit
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from libs.reconcile.errors import StaleGeneration
from libs.store.fleet.rack_uplinks import load_rack_uplinks, put_rack_uplinks
from libs.store.fleet.regions import load_region as load_stored_region
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.platform.database import Database
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from libs.store.regions.region_uplinks import load_region_uplinks
from tests.builders.region import region_image
from tests.libs.store.conftest import NOW

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 2.0}, survives_msb_loss=False, gbit_per_rru=4.0)
BATCH = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)
LIMITS = {"rack-00": 10.0, "rack-01": 100.0}


def stored(database: Database):
    """Store a region of 2 MSBs with a rack of 4 servers each. Return its id."""
    web = {f"server-{n:02d}": "web" for n in (0, 1, 4)}
    image = region_image(
        reservations={"web": WEB, "batch": BATCH},
        current=web | {"server-02": "batch"},
        target=web | {"server-02": "web"},
        down={"server-04"},
    )
    limits = np.array([LIMITS[name] for name in image.snapshot.topology.racks])
    image = replace(image, snapshot=replace(image.snapshot, uplinks=limits))
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    with database.snapshot() as tx:
        return load_stored_region(tx, "west").region_id


def test_a_region_comes_and_goes_with_its_uplinks_and_traffic(database: Database) -> None:
    region_id = stored(database)
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, "west")
        exported = load_region(dump_region(load_region_image(tx, "west"))).snapshot
        assert load_rack_uplinks(tx, region_id) == (LIMITS, 1)
    for found in (snapshot, exported):
        assert dict(zip(found.topology.racks, found.uplinks, strict=True)) == LIMITS
        assert found.reservations.gbit_per_rru.tolist() == [4.0, 0.0]


def test_limits_are_replaced_as_a_whole_at_their_generation(database: Database) -> None:
    region_id = stored(database)
    with database.write() as tx, pytest.raises(StaleGeneration):
        put_rack_uplinks(tx, region_id, {}, generation=0, actor="olga", now=NOW)
    with database.write() as tx:
        assert put_rack_uplinks(tx, region_id, {"rack-01": 7.0}, generation=1, actor="olga", now=NOW) == 2
    with database.snapshot() as tx:
        assert load_rack_uplinks(tx, region_id) == ({"rack-01": 7.0}, 2)
        assert load_fleet_snapshot(tx, "west").uplinks.tolist() == [np.inf, 7.0]
    with database.write() as tx:
        put_rack_uplinks(tx, region_id, {}, generation=2, actor="olga", now=NOW)
    with database.snapshot() as tx:
        assert load_fleet_snapshot(tx, "west").uplinks is None


def test_racks_are_listed_by_what_they_send_above_their_limits_by_targets(database: Database) -> None:
    region_id = stored(database)
    with database.snapshot() as tx:
        found, snapshot = load_region_uplinks(tx, region_id), load_fleet_snapshot(tx, "west")
    shown = [(one.rack, one.limit_gbit, one.current_gbit, one.target_gbit) for one in found.traffic]
    assert shown == [("rack-00", 10.0, 16.0, 24.0), ("rack-01", 100.0, 0.0, 0.0)], "server-04 is down"
    assert (found.traffic[0].current_above_gbit, found.traffic[0].target_above_gbit) == (6.0, 14.0)
    by_definition = by_rack(snapshot, sent_gbit(snapshot, snapshot.servers.target))
    assert by_definition.tolist() == [24.0, 0.0], "solves count the same"
