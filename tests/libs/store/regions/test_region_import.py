import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest
import sqlalchemy as sa

from libs.domain.domain_kind import UNPLACED
from libs.domain.fleet import DELETED
from libs.domain.policy import RegionPolicy
from libs.domain.region_image import RegionImage
from libs.domain.reservation import CapacityUnit, ReservationSpec
from libs.domain.rru_catalogue import ClassVersion, RegionCatalogue
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region, image_of
from libs.store.fleet.hardware_types import put_cost_units
from libs.store.fleet.regions import list_regions
from libs.store.fleet.regions import load_region as load_stored_region
from libs.store.fleet.servers import list_servers
from libs.store.fleet.snapshot import load_fleet_snapshot
from libs.store.fleet.unavailability_events import list_events
from libs.store.plans.plans import load_plan
from libs.store.platform import audit
from libs.store.platform.database import Database
from libs.store.platform.refusals import AlreadyExists, NotFound, NotPossible
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_import import import_region
from tests.builders.equal import assert_same_image, assert_same_snapshot
from tests.builders.region import region_image
from tests.libs.store.conftest import NOW

WEB = ReservationSpec(
    capacity_rru=3,
    rru={"hw-a": 1.0, "hw-b": 1.5},
    msb_spread_limit=0.5,
    affinity={"dc-01": 0.25},
    workload_class="serving",
)
BATCH = ReservationSpec(
    capacity_rru=2,
    priority=1,
    move_cost=0.5,
    msb_share_max=0.75,
    datacenters=("dc-01",),
    rru={"hw-b": 1.0},
    survives_msb_loss=False,
    unit=CapacityUnit.COUNT,
    host_profile="k8s",
)


def version(number: int, rru: Mapping[str, float], workload_class: str = "serving") -> ClassVersion:
    return ClassVersion(
        workload_class=workload_class,
        version=number,
        reference="hw-a",
        rru=rru,
        asked_by=("ann", "bob"),
        approved_by="olga",
        reason=None if number == 1 else "measured",
        created_at=NOW,
    )


CATALOGUE = RegionCatalogue(
    cost_units={"hw-b": 1.75},
    versions=(
        version(1, {"hw-a": 1.0, "hw-b": 2.0}),
        version(1, {"hw-a": 1.0, "hw-elsewhere": 3.0}, "training"),
        version(2, {"hw-a": 1.0, "hw-b": 1.5}),
        version(2, {}, "training"),
    ),
)


def full_image(region: str = "west") -> RegionImage:
    """Return an image with every feature."""
    return region_image(
        region,
        datacenters=2,
        msbs=4,
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b", "hw-unused"),
        reservations={"web": WEB, "batch": BATCH, "hw-b-buffer": dataclasses.replace(BATCH, rru={"hw-unused": 2.0})},
        current={
            "server-00": "web",
            "server-01": "web",
            "server-02": "batch",
            "server-05": "gone",
            "server-06": "gone",
        },
        target={"server-00": "web", "server-01": "batch", "server-03": "web", "server-05": "went", "server-08": "gone"},
        in_use={"server-00", "server-05"},
        down={"server-03", "server-07"},
        owner={"web": "team-web"},
        kind={"hw-b-buffer": "shared_buffer"},
        host_profile={"server-01": "kernel-6"},
        maintained={"server-02", "server-09"},
        attributes={"hw-a": {"vcpu": 64.0, "memory_gib": 256.0}, "hw-b": {"vcpu": 96.0}},
        policy=RegionPolicy(buffer_cost=7.0),
        catalogue=CATALOGUE,
    )


def put(database: Database, image: RegionImage) -> None:
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)


def test_what_was_imported_is_exported(database: Database) -> None:
    put(database, full_image())
    with database.snapshot() as tx:
        assert_same_image(load_region_image(tx, "west"), full_image())


def test_what_the_files_hold_is_what_the_store_holds(database: Database) -> None:
    image = load_region(dump_region(full_image()), name="west")
    assert_same_image(image, full_image())
    put(database, image)
    with database.snapshot() as tx:
        exported = load_region_image(tx, "west")
    assert_same_image(load_region(dump_region(exported), name="west"), full_image())


def test_cost_units_that_operators_set_before_stay_and_new_ones_are_audited(database: Database) -> None:
    put(database, region_image("east", hardware_types=("hw-b", "hw-c")))
    with database.write() as tx:
        put_cost_units(tx, "hw-b", 9.0, generation=1, actor="olga", reason=None, now=NOW)
    put(
        database,
        dataclasses.replace(
            full_image(), catalogue=RegionCatalogue(cost_units={"hw-a": 2.0, "hw-b": 1.75}, versions=CATALOGUE.versions)
        ),
    )
    with database.snapshot() as tx:
        catalogue = load_region_image(tx, "west").catalogue
        assert catalogue is not None
        assert catalogue.cost_units == {"hw-a": 2.0, "hw-b": 9.0}
        [entry] = [one for one in audit.list_entries(tx, subject_kind="hardware_type").items if one.reason]
    assert (entry.action, entry.after) == ("put_cost_units", {"cost_units": 2.0})


def test_a_solve_of_the_store_and_one_of_its_files_count_the_same_cost_units(database: Database) -> None:
    put(database, full_image())
    with database.snapshot() as tx:
        stored = load_region_image(tx, "west")
    read = load_region(dump_region(stored), name="west").snapshot
    assert stored.snapshot.cost_units is not None
    # hw-a has its reference RRU, hw-b what operators set, and the last one the default.
    assert dict(zip(read.hardware_types, stored.snapshot.cost_units, strict=True)) == {
        "hw-a": 1.0,
        "hw-b": 1.75,
        "hw-unused": 1.0,
    }
    assert_same_snapshot(read, stored.snapshot)
    assert_same_snapshot(load_region(dump_region(image_of(read)), name="west").snapshot, read)


def test_regions_share_hardware_types_and_nothing_else(database: Database) -> None:
    put(database, full_image("west"))
    put(database, full_image("east"))
    with database.snapshot() as tx:
        assert_same_image(load_region_image(tx, "east"), full_image("east"))
        assert [region.name for region in list_regions(tx).items] == ["west", "east"]
        first = list_regions(tx, limit=1)
        assert [r.name for r in list_regions(tx, after=first.next_cursor).items] == ["east"]


def test_types_that_another_region_named_first_are_still_matched_by_name(database: Database) -> None:
    put(database, region_image("east", hardware_types=("hw-b",)))
    put(database, full_image())
    with database.snapshot() as tx:
        assert_same_image(load_region_image(tx, "west"), full_image())


def test_an_import_heads_the_lineage_opens_events_and_is_audited(database: Database) -> None:
    put(database, full_image())
    with database.snapshot() as tx:
        region = load_stored_region(tx, "west")
        assert region.target_plan_id is not None
        assert load_plan(tx, region.target_plan_id).kind == "import"
        assert load_fleet_snapshot(tx, "west").target_plan_id == region.target_plan_id
        events = list_events(tx, "west").items
        assert {(e.scope_name, e.kind, e.reason, e.ended_at) for e in events} == {
            ("server-03", "unplanned", "imported", None),
            ("server-07", "unplanned", "imported", None),
            ("server-02", "planned", "imported", None),
            ("server-09", "planned", "imported", None),
        }
        [entry] = audit.list_entries(tx, subject_kind="region", subject_id=region.region_id).items
        assert (entry.actor, entry.action, entry.at) == ("olga", "import", NOW)
        assert entry.after == {"servers": 16, "reservations": 3}


def test_a_region_is_imported_once(database: Database) -> None:
    put(database, full_image())
    with pytest.raises(AlreadyExists, match="already a region west"):
        put(database, full_image())


def test_an_empty_region_is_a_region(database: Database) -> None:
    put(database, region_image(msbs=1, servers_per_rack=0))
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, "west")
        assert (len(snapshot.servers), len(snapshot.reservations)) == (0, 0)
        assert snapshot.reservations.rru.shape == (0, 0)


def test_a_region_that_is_not_there_is_not_found(database: Database) -> None:
    with database.snapshot() as tx, pytest.raises(NotFound, match="no region east"):
        load_fleet_snapshot(tx, "east")


def test_a_snapshot_needs_one_moment(database: Database) -> None:
    put(database, full_image())
    with database.write() as tx, pytest.raises(ValueError, match="snapshot"):
        load_fleet_snapshot(tx, "west")


@pytest.mark.parametrize(
    ("image", "field"),
    [
        (region_image(in_use={"server-00"}), "in_use"),
        (region_image(reservations={"shared-buffer-hw-a": BATCH}), "reservation"),
        (region_image(reservations={"b": BATCH}, kind={"b": "shared_buffer"}, hardware_types=("hw-z",)), "reservation"),
        (
            region_image(reservations={"b": WEB, "c": WEB}, kind={"b": "shared_buffer", "c": "shared_buffer"}),
            "reservation",
        ),
        (region_image("w" * 201), "region"),
        (region_image("us/west"), "region"),
        (region_image(hardware_types=("..",)), "hardware_type"),
        (region_image(hardware_types=("hw\x00",)), "hardware_type"),
        (region_image(reservations={"": WEB}), "reservation"),
        (region_image(current={"server-00": "a\nb"}), "reservation"),
        (region_image(host_profile={"server-00": "a\nb"}), "host_profile"),
    ],
)
def test_what_the_files_may_say_and_a_region_may_not(database: Database, image: RegionImage, field: str) -> None:
    with pytest.raises(NotPossible) as refused:
        put(database, image)
    assert refused.value.field == field


def broken(**servers: object) -> RegionImage:
    image = region_image(reservations={"web": WEB})
    changed = dataclasses.replace(image.snapshot.servers, **servers)
    return dataclasses.replace(image, snapshot=dataclasses.replace(image.snapshot, servers=changed))


def test_what_the_schema_forbids_changes_nothing(database: Database) -> None:
    twice = np.array([f"server-{max(i, 1)}" for i in range(8)], object)
    with pytest.raises(NotPossible, match="uq_servers_live_name"):
        put(database, broken(name=twice))
    with pytest.raises(NotPossible, match="reservations_capacity_rru"):
        put(database, region_image(reservations={"web": dataclasses.replace(WEB, capacity_rru=-1)}))
    with pytest.raises(NotPossible, match="reservations_kind"):
        put(database, region_image(reservations={"web": WEB}, kind={"web": "imaginary"}))
    with database.snapshot() as tx:
        assert list_regions(tx).items == ()


def test_a_deleted_reservation_whose_name_is_in_use_again_is_told_apart(database: Database) -> None:
    put(database, region_image(current={"server-00": "web"}))
    with database.write() as tx:
        again = """INSERT INTO reservations (region_id, name, kind, owner, host_profile, unit, capacity_rru,
                                             survives_msb_loss, created_at)
                   SELECT region_id, name, kind, owner, host_profile, unit, 1, true, created_at FROM reservations"""
        tx.execute(sa.text(again))
    with database.snapshot() as tx:
        image = load_region_image(tx, "west")
    assert (image.snapshot.reservations.name[0], image.server_deleted_current[0]) == ("web", "web-deleted")


def test_limits_are_numbers(database: Database) -> None:
    for limit in (float("nan"), 0.0, -1.0):
        with pytest.raises(NotPossible, match="spread_limit"):
            put(database, region_image(reservations={"web": dataclasses.replace(WEB, rack_spread_limit=limit)}))


def test_tombstones_are_deleted_reservations(database: Database) -> None:
    put(database, full_image())
    with database.snapshot() as tx:
        snapshot = load_fleet_snapshot(tx, "west")
        rows = tx.execute(sa.text("SELECT name, deleted_at FROM reservations WHERE deleted_at IS NOT NULL")).all()
    assert rows == [("gone", NOW), ("went", NOW)]
    assert [snapshot.servers.name[i] for i in np.flatnonzero(snapshot.servers.current == DELETED)] == [
        "server-05",
        "server-06",
    ]


def test_servers_keep_their_domains_of_further_kinds(database: Database) -> None:
    domains = {"network_block": {"server-00": "b1", "server-05": "b0"}, "power_row": {"server-00": "p0"}}
    image = region_image("west", domains=domains)
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
        import_region(tx, region_image("east", domains={"network_block": {"server-01": "b1"}}), actor="olga", now=NOW)
    with database.snapshot() as tx:
        found = load_fleet_snapshot(tx, "west")
        listed = {server.name: server.domains for server in list_servers(tx, "west").items}
    wanted = image.snapshot
    assert [(kind.name, kind.domains.tolist()) for kind in found.topology.kinds] == [
        ("network_block", ["b0", "b1"]),
        ("power_row", ["p0"]),
    ]
    assert found.servers.domain.tolist() == wanted.servers.domain.tolist()
    assert listed["server-00"] == {"network_block": "b1", "power_row": "p0"}
    assert listed["server-05"] == {"network_block": "b0"}
    assert listed["server-01"] == {}


def test_a_promise_of_a_further_kind_is_kept_through_import_and_export(database: Database) -> None:
    guarded = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_loss_of=("network_block",))
    plain = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})
    image = region_image(
        "west",
        reservations={"plain": plain, "web": guarded},
        domains={"network_block": {"server-00": "b0"}, "power_row": {"server-01": "p0"}},
    )
    with database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    with database.snapshot() as tx:
        found = load_region_image(tx, "west")
    for snapshot in (found.snapshot, load_region(dump_region(found), name="east").snapshot):
        assert [kind.name for kind in snapshot.topology.kinds] == ["network_block", "power_row"]
        assert snapshot.reservations.name.tolist() == ["plain", "web"]
        assert snapshot.reservations.survives_loss_of.tolist() == [[False, False], [True, False]]


def test_a_promise_of_a_kind_without_places_is_refused(database: Database) -> None:
    guarded = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_loss_of=("network_block",))
    image = region_image("west", reservations={"web": guarded}, domains={"network_block": {"server-00": "b0"}})
    nowhere = dataclasses.replace(image.snapshot.servers, domain=np.full_like(image.snapshot.servers.domain, UNPLACED))
    image = dataclasses.replace(image, snapshot=dataclasses.replace(image.snapshot, servers=nowhere))
    expected = "web: no server has a place of the kind network_block: fill domain:network_block"
    with pytest.raises(NotPossible, match=expected) as refused, database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    assert refused.value.field == "survives_loss_of"


def test_a_domain_needs_a_name_that_prints(database: Database) -> None:
    image = region_image("west", domains={"network_block": {"server-00": "b\t0"}})
    with pytest.raises(NotPossible, match="all printable") as refused, database.write() as tx:
        import_region(tx, image, actor="olga", now=NOW)
    assert refused.value.field == "domain:network_block"
