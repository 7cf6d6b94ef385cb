"""A class of workload cannot be retired in the moment in which a reservation begins to follow it."""

from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.reconcile.errors import StaleGeneration
from libs.store.capacity.held_classes import lock_class
from libs.store.capacity.reservations import create_reservation, find_reservation, update_spec
from libs.store.capacity.rru_catalogue import append_version, load_class_users
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database, Transaction
from tests.builders.region import region_image
from tests.builders.stored import NOW, stored
from tests.crash.harness import wait_until

WEB = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, workload_class="web")


@pytest.fixture
def region_id(database: Database) -> int:
    stored(database, region_image(reservations={"own": ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0})}))
    with database.write() as tx:
        region_id = load_region(tx, "west").region_id
        append(tx, region_id, 1, {"hw-a": 1.0})
    return region_id


def append(tx: Transaction, region_id: int, version: int, rru: dict[str, float]) -> None:
    append_version(
        tx, region_id, "web", after=version - 1, reference="hw-a", rru=rru, asked_by=["olga"], approved_by="paul",
        reason=None, now=NOW,
    )  # fmt: skip


def grant(tx: Transaction, region_id: int) -> None:
    create_reservation(tx, region_id, name="web", owner="team", spec=WEB, now=NOW)


def resize(tx: Transaction, region_id: int) -> None:
    own = find_reservation(tx, "west", "own")
    assert own is not None
    update_spec(tx, own.reservation_id, WEB, generation=own.generation)


def retire(tx: Transaction, region_id: int) -> list[str]:
    """Retire the class unless a reservation follows it, as the portal does. Return those that do."""
    lock_class(tx, region_id, "web")
    if not (users := load_class_users(tx, region_id, "web")):
        append(tx, region_id, 2, {})
    return users


def waits(database: Database, other: "Future[object]") -> bool:
    """Return whether another transaction waits for a lock, or has ended without waiting."""
    with database.snapshot() as tx:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return other.done() or tx.execute(sa.text(query)).scalar_one() > 0


@pytest.mark.parametrize(("begin", "name"), [(grant, "web"), (resize, "own")])
def test_a_retirement_waits_for_a_grant_and_sees_it(database: Database, region_id: int, begin, name: str) -> None:
    def later() -> list[str]:
        with database.write() as tx:
            return retire(tx, region_id)

    with ThreadPoolExecutor(2) as threads:
        with database.write() as tx:
            begin(tx, region_id)
            second = threads.submit(later)
            threads.submit(wait_until, lambda: waits(database, second), "the retirement waits").result()
        assert second.result() == [name]


@pytest.mark.parametrize("begin", [grant, resize])
def test_a_grant_waits_for_a_retirement_and_is_judged_again(database: Database, region_id: int, begin) -> None:
    def later() -> None:
        with database.write() as tx:
            begin(tx, region_id)

    with ThreadPoolExecutor(2) as threads:
        with database.write() as tx:
            assert retire(tx, region_id) == []
            second = threads.submit(later)
            threads.submit(wait_until, lambda: waits(database, second), "the grant waits").result()
        with pytest.raises(StaleGeneration, match="web"):
            second.result()
    with database.snapshot() as tx:
        assert load_class_users(tx, region_id, "web") == []
