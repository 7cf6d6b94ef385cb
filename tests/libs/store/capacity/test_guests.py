"""Guests in tables: shares of servers, classes of workload, deletions, and whole regions."""

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.interchange.region.read import load_region
from libs.interchange.region.write import dump_region
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.cost_units import load_cost_table
from libs.store.capacity.coverage import load_coverage
from libs.store.capacity.reservations import (
    create_reservation,
    delete_reservation,
    find_reservation,
    load_owners,
    load_reservation,
    update_spec,
)
from libs.store.capacity.rru_catalogue import append_version, follow_catalogue
from libs.store.fleet.hardware_types import fill_attributes
from libs.store.fleet.regions import load_region as load_region_row
from libs.store.platform.database import Database
from libs.store.platform.refusals import HasGuests, NotPossible
from libs.store.regions.region_export import load_region_image
from libs.store.regions.region_summary import load_region_summary
from libs.store.regions.server_counts import count_by_place
from tests.builders.equal import assert_same_snapshot
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, stored

WEB = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0, "hw-b": 3.0})


def guest(share: float = 0.3, **more: object) -> ReservationSpec:
    return ReservationSpec(**{"capacity_rru": 1, "rru": {"hw-b": 7.0}, "guest_of": "web", "guest_share": share, **more})


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    image = region_image(
        msbs=2,
        racks_per_msb=2,
        servers_per_rack=2,
        hardware_types=("hw-a", "hw-b"),
        reservations={"web": WEB, "cache": guest(), "batch": guest(0.2, rru={"hw-a": 2.0})},
        current={"server-00": "web", "server-02": "web", "server-06": "web"},
    )
    stored(database, image)
    yield database
    database.close()


def worths(database: Database, name: str) -> dict[str, tuple[float, float | None]]:
    """Return hardware type -> the RRU of the share of a server, and of a whole one."""
    query = """
        SELECT hardware_types.name, rru, whole_rru FROM reservation_rru JOIN hardware_types USING (hardware_type_id)
        JOIN reservations USING (reservation_id) WHERE reservations.name = :name AND deleted_at IS NULL"""
    with database.snapshot() as tx:
        return {row.name: (row.rru, row.whole_rru) for row in tx.execute(sa.text(query), {"name": name})}


def row_of(database: Database, name: str) -> tuple[int, int]:
    with database.snapshot() as tx:
        found = find_reservation(tx, "west", name)
    assert found is not None
    return found.reservation_id, found.generation


def test_each_change_of_a_guest_changes_what_its_host_has_of_a_server(database: Database) -> None:
    assert worths(database, "web") == {"hw-a": (0.5, 1.0), "hw-b": (1.5, 3.0)}
    assert worths(database, "cache") == {"hw-b": (7.0 * 0.3, 7.0)}
    cache, generation = row_of(database, "cache")
    web, host_generation = row_of(database, "web")
    with database.write() as tx:
        region_id = load_region_row(tx, "west").region_id
        create_reservation(tx, region_id, name="third", owner="team", spec=guest(0.1), now=NOW)
    assert worths(database, "web") == {"hw-a": (0.4, 1.0), "hw-b": (3 * 0.4, 3.0)}
    with database.write() as tx:
        update_spec(tx, cache, guest(0.05), generation=generation)
    assert worths(database, "web")["hw-a"] == (0.65, 1.0)
    with database.write() as tx:
        delete_reservation(tx, cache, generation=generation + 1, now=NOW)
    assert worths(database, "web")["hw-a"] == (0.7, 1.0)
    assert row_of(database, "web") == (web, host_generation + 3)
    with database.write() as tx:
        update_spec(tx, web, ReservationSpec(capacity_rru=1, rru={"hw-a": 2.0}), generation=host_generation + 3)
    assert worths(database, "web") == {"hw-a": (1.4, 2.0)}
    with database.snapshot() as tx:
        assert load_reservation(tx, web).spec.rru == {"hw-a": 2.0}


def test_no_write_leaves_a_guest_without_a_host(database: Database) -> None:
    web, generation = row_of(database, "web")
    for named in (generation, generation - 1):  # a guest that came meanwhile raised the generation of its host
        with database.write() as tx, pytest.raises(HasGuests, match="web has guests on its servers: batch and 1 more"):
            delete_reservation(tx, web, generation=named, now=NOW)
    with database.write() as tx:
        region_id = load_region_row(tx, "west").region_id
        with pytest.raises(StaleGeneration):
            create_reservation(tx, region_id, name="third", owner="team", spec=guest(guest_of="gone"), now=NOW)


def test_a_guest_counts_the_servers_of_its_host_by_place(database: Database) -> None:
    with database.snapshot() as tx:
        of_host, of_guest = (count_by_place(tx, "west", reservation=name) for name in ("web", "cache"))
    assert [(one.msb, one.joined) for one in of_host] == [(one.msb, one.joined) for one in of_guest]
    assert sum(one.held_rru or 0.0 for one in of_host) == 0.5 + 1.5 * 2
    assert sum(one.held_rru or 0.0 for one in of_guest) == pytest.approx(7.0 * 0.3 * 2)


def test_a_deleted_guest_holds_nothing(database: Database) -> None:
    cache, generation = row_of(database, "cache")
    with database.write() as tx:
        assert load_coverage(tx, [cache], "current")[cache].servers == 3
        delete_reservation(tx, cache, generation=generation, now=NOW)
        assert load_coverage(tx, [cache], "current")[cache].servers == 0


def test_shares_are_kept_when_a_class_of_workload_changes(database: Database) -> None:
    with database.write() as tx:
        region_id = load_region_row(tx, "west").region_id
        for name, rru in (("web", {"hw-a": 4.0, "hw-b": 5.0}), ("cache", {"hw-b": 9.0})):
            append_version(
                tx,
                region_id,
                name,
                after=0,
                reference="hw-a",
                rru=rru,
                asked_by=["olga"],
                approved_by="olga",
                reason=None,
                now=NOW,
            )
            tx.execute(sa.text("UPDATE reservations SET workload_class = name WHERE name = :name"), {"name": name})
        assert follow_catalogue(tx, region_id, actor="test", now=NOW) == 2
        assert follow_catalogue(tx, region_id, actor="test", now=NOW) == 0
    assert worths(database, "web") == {"hw-a": (2.0, 4.0), "hw-b": (2.5, 5.0)}
    assert worths(database, "cache") == {"hw-b": (9.0 * 0.3, 9.0)}
    region = read(database)
    amount = dict(zip(region.resources.names.tolist(), region.resources.amount.tolist(), strict=True))
    assert amount["guest:cache"] == [0.0, 9.0 * 0.3]


def test_a_region_with_guests_comes_back_from_a_platform(database: Database) -> None:
    with database.snapshot() as tx:
        image = load_region_image(tx, "west")
    assert [one.name for one in image.snapshot.guests] == ["cache", "batch"]
    again = load_region(dump_region(image), name="west")
    assert_same_snapshot(again.snapshot, image.snapshot)
    assert [(one.name, one.spec, one.owner) for one in again.snapshot.guests] == [
        (one.name, one.spec, one.owner) for one in image.snapshot.guests
    ]


def test_an_attribute_is_never_a_share_of_a_guest(database: Database) -> None:
    said = {"hw-a": {"guest:cache": 50.0, "cores": 32.0}}
    with database.write() as tx, pytest.raises(NotPossible, match="choose another") as refused:
        fill_attributes(tx, said)
    assert refused.value.field == "attributes.guest:cache"
    with database.write() as tx:  # as an earlier version stored it
        values = {"said": json.dumps(said["hw-a"])}
        tx.execute(sa.text("UPDATE hardware_types SET attributes = CAST(:said AS jsonb) WHERE name = 'hw-a'"), values)
    region = read(database)
    amount = dict(zip(region.resources.names.tolist(), region.resources.amount.tolist(), strict=True))
    assert (amount["guest:cache"], amount["cores"]) == ([0.0, 7.0 * 0.3], [32.0, 0.0])
    with database.snapshot() as tx:
        assert load_cost_table(tx, load_region_row(tx, "west")).amounts["hw-a"] == {"guest:batch": 0.4, "cores": 32.0}


def test_simulations_can_change_no_guest(database: Database) -> None:
    with database.snapshot() as tx:
        assert load_owners(tx, "west") == {"web": "team"}


def test_what_a_guest_lacks_counts_once_in_the_sum_of_its_region(database: Database) -> None:
    cache, generation = row_of(database, "cache")
    with database.write() as tx:
        update_spec(tx, cache, guest(0.3, capacity_rru=100), generation=generation)
    web, _ = row_of(database, "web")
    with database.snapshot() as tx:
        summary, alone = load_region_summary(tx, "west"), load_coverage(tx, [web], "target")[web]
    lacking = {one.name for one in summary.short}
    assert {"web", "cache"} <= lacking
    assert summary.shortfall_rru == pytest.approx(alone.shortfall_rru)
