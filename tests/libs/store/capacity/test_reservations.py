from collections.abc import Callable
from dataclasses import replace
from threading import Barrier

import pytest
import sqlalchemy as sa

from libs.domain.capacity_request import CapacityRequestKind
from libs.domain.reservation import ReservationSpec
from libs.reconcile.clock import SystemClock
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.capacity_requests import create_capacity_request
from libs.store.capacity.reservations import create_reservation, delete_reservation, load_reservation, update_spec
from libs.store.platform.database import Database, Transaction
from libs.store.platform.refusals import AlreadyExists, NotFound, NotPossible
from libs.store.regions.region_import import import_region
from tests.builders.race import elsewhere, race
from tests.builders.region import region_image

NOW = SystemClock().now()
SPEC = ReservationSpec(capacity_rru=3, rru={"hw-a": 1.0}, affinity={"dc-00": 0.5})


@pytest.fixture
def database(database_url: str):
    database = Database(database_url)
    with database.write() as tx:
        import_region(tx, region_image("west", hardware_types=("hw-a", "hw-b")), actor="test", now=NOW)
    yield database
    database.close()


def make(database: Database, name: str = "web", spec: ReservationSpec = SPEC) -> int:
    with database.write() as tx:
        return create_reservation(tx, 1, name=name, owner="team", spec=spec, now=NOW)


def test_what_is_written_is_read_and_every_change_raises_the_generation(database: Database) -> None:
    key = make(database)
    changes = (
        {"rru": {"hw-a": 2.0}},
        {"affinity": {}},
        {"rack_spread_limit": 0.5},
        {"rru": {"hw-b": 1.0}},
        {"priority": 4},
        {"move_cost": 2.5},
        {"msb_share_max": 0.25},
        {"datacenters": ("dc-00",)},
    )
    spec = SPEC
    for generation, change in enumerate(changes, start=1):
        with database.snapshot() as tx:
            found = load_reservation(tx, key)
        assert (found.spec, found.generation) == (spec, generation)
        spec = replace(spec, **change)
        with database.write() as tx:
            assert update_spec(tx, key, spec, generation=generation) == generation + 1


def test_a_stale_change_is_refused_and_so_is_one_of_a_deleted_reservation(database: Database) -> None:
    key = make(database)
    with pytest.raises(StaleGeneration), database.write() as tx:
        update_spec(tx, key, SPEC, generation=2)
    with database.write() as tx:
        delete_reservation(tx, key, generation=1, now=NOW)
    for generation in (1, 2):
        with pytest.raises(StaleGeneration), database.write() as tx:
            update_spec(tx, key, SPEC, generation=generation)
        with pytest.raises(StaleGeneration), database.write() as tx:
            delete_reservation(tx, key, generation=generation, now=NOW)
    with pytest.raises(NotFound), database.write() as tx:
        update_spec(tx, 999, SPEC, generation=1)


def test_a_name_is_taken_while_its_reservation_lives(database: Database) -> None:
    key = make(database)
    with pytest.raises(AlreadyExists):
        make(database)
    with database.write() as tx:
        delete_reservation(tx, key, generation=1, now=NOW)
    assert make(database) != key


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (ReservationSpec(capacity_rru=1, rru={"hw-x": 1.0}), "rru.hw-x"),
        (ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, affinity={"dc-9": 1.0}), "affinity.dc-9"),
    ],
)
def test_names_that_are_not_there_keep_nothing(database: Database, spec: ReservationSpec, field: str) -> None:
    with pytest.raises(NotPossible) as refused:
        make(database, spec=spec)
    assert refused.value.field == field
    make(database)


def test_of_two_deletes_at_once_one_is_stale_and_none_is_a_deadlock(database: Database) -> None:
    key = make(database)
    both_kept = Barrier(2)

    def delete(tx: Transaction) -> None:
        create_capacity_request(
            tx,
            1,
            kind=CapacityRequestKind.DELETE,
            reservation_name="web",
            reservation_id=key,
            reservation_generation=1,
            owner="team",
            spec=None,
            requested_by="test",
            message="",
            now=NOW,
        )
        both_kept.wait()
        delete_reservation(tx, key, generation=1, now=NOW)

    outcomes = race(database, delete, delete)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "StaleGeneration"], outcomes


@pytest.mark.parametrize(
    "change",
    [
        lambda tx, key: update_spec(tx, key, replace(SPEC, capacity_rru=4), generation=1),
        lambda tx, key: delete_reservation(tx, key, generation=1, now=NOW),
    ],
)
def test_a_server_joins_while_its_reservation_changes(
    database: Database, change: Callable[[Transaction, int], object]
) -> None:
    """A change of a reservation locks its servers next, so a server must not wait for the reservation then."""
    key = make(database)

    def join() -> int:
        with database.write() as mover:
            mover.execute(sa.text("SET LOCAL lock_timeout = '1s'"))
            statement = "UPDATE servers SET current_reservation_id = :key WHERE name = 'server-00'"
            return mover.execute(sa.text(statement), {"key": key}).rowcount

    with database.write() as tx:
        change(tx, key)
        assert elsewhere(join) == 1
