"""Owners see which part of a reservation was granted."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationKind, ReservationSpec
from libs.store.capacity.reservations import update_spec
from libs.store.capacity.ungranted import load_ungranted, load_waiting
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database
from libs.store.tables import reservations
from tests.builders.granted import ask
from tests.builders.region import region_image
from tests.builders.stored import reservation_id, stored

SPEC = ReservationSpec(capacity_rru=2, rru={"hw-a": 1.0}, survives_msb_loss=False)


def resized(database: Database, **columns: float | None) -> None:
    """Change columns of web, as an accepted request does, or an older version."""
    with database.write() as tx:
        tx.execute(sa.update(reservations).where(reservations.c.name == "web").values(columns))


@pytest.mark.parametrize(
    ("requests", "waits"),
    [
        ([], {}),
        ([("create", 2, "granted")], {}),
        ([("create", 2, "degraded")], {"web": 0.0}),
        ([("create", 1, "granted"), ("resize", 2, "degraded")], {"web": 1.0}),
        ([("create", 3, "granted"), ("resize", 2, "degraded")], {}),
        ([("create", 1, "granted"), ("resize", 9, "rejected")], {}),
        ([("resize", 2, "degraded")], {}),
        ([("resize", 1, "granted"), ("resize", 2, "degraded")], {"web": 1.0}),
    ],
)
def test_owners_see_how_much_of_a_request_that_waits_was_granted(
    database: Database, requests: Sequence[tuple[str, float, str]], waits: dict[str, float]
) -> None:
    """An imported reservation (db) waits for nothing. No request created it, so its first resize takes nothing away."""
    fleet = stored(database, region_image(reservations={"web": SPEC, "db": SPEC}))
    ask(database, requests)
    ids = {name: reservation_id(fleet, name) for name in ("web", "db")}
    with database.snapshot() as tx:
        assert load_waiting(tx, ids.values()) == {ids[name]: rru for name, rru in waits.items()}
        assert load_waiting(tx, [ids["db"]]) == load_waiting(tx, []) == {}


@pytest.mark.parametrize(
    ("requests", "waits"),
    [
        ([("resize", 3, "degraded")], {"web": 2.0}),
        ([("resize", 9, "degraded"), ("resize", 3, "degraded")], {"web": 2.0}),
        ([("resize", 2.5, "granted"), ("resize", 3, "degraded")], {"web": 2.5}),
        ([("resize", 3, "granted")], {}),
        ([("resize", 3, "rejected")], {}),
    ],
)
def test_what_was_imported_stays_promised_while_its_resize_waits(
    database: Database, requests: Sequence[tuple[str, float, str]], waits: dict[str, float]
) -> None:
    fleet = stored(database, region_image(reservations={"web": SPEC}))
    resized(database, capacity_rru=3.0)
    ask(database, requests)
    with database.snapshot() as tx:
        assert load_waiting(tx, [reservation_id(fleet, "web")]) == {
            reservation_id(fleet, name): rru for name, rru in waits.items()
        }


@pytest.mark.parametrize(("rru", "waits"), [(1.0, {"web": 2.0}), (0.25, {})])
def test_what_was_imported_is_no_promise_in_other_units(
    database: Database, rru: float, waits: dict[str, float]
) -> None:
    """2 RRU of 1 per server are 2 servers. Of 0.25 per server, they would be 8."""
    fleet = stored(database, region_image(reservations={"web": SPEC}))
    web = reservation_id(fleet, "web")
    with database.write() as tx:
        update_spec(tx, web, replace(SPEC, capacity_rru=3, rru={"hw-a": rru}), generation=1)
    ask(database, [("resize", 3, "degraded")])
    with database.snapshot() as tx:
        assert load_waiting(tx, [web]) == {reservation_id(fleet, name): granted for name, granted in waits.items()}


@pytest.mark.parametrize("rru", [{"hw-a": 0.25}, {"hw-a": 1.0, "hw-b": 2.0}, {"hw-b": 2.0}])
def test_nothing_is_promised_in_any_units_of_what_was_imported_without_a_grant(
    database: Database, rru: dict[str, float]
) -> None:
    fleet = stored(database, region_image(hardware_types=("hw-a", "hw-b"), reservations={"web": SPEC}))
    web = reservation_id(fleet, "web")
    resized(database, imported_rru=0.0)
    with database.write() as tx:
        update_spec(tx, web, replace(SPEC, capacity_rru=3, rru=rru), generation=2)
    ask(database, [("resize", 2, "degraded"), ("resize", 3, "degraded")])
    with database.snapshot() as tx:
        assert load_waiting(tx, [web]) == {web: 0.0}


@pytest.mark.parametrize(("rru", "waits"), [({"hw-a": 1.0, "hw-b": 2.0}, 1.0), ({"hw-b": 2.0}, None)])
def test_one_more_hardware_type_promises_no_more_of_what_was_imported(
    database: Database, rru: dict[str, float], waits: float | None
) -> None:
    """Owners add a type to find what still lacks. That is no grant."""
    fleet = stored(database, region_image(hardware_types=("hw-a", "hw-b"), reservations={"web": SPEC}))
    web = reservation_id(fleet, "web")
    resized(database, imported_rru=1.0)
    with database.write() as tx:
        update_spec(tx, web, replace(SPEC, capacity_rru=3, rru=rru), generation=2)
    ask(database, [("resize", 2, "degraded"), ("resize", 3, "degraded")])
    with database.snapshot() as tx:
        assert load_waiting(tx, [web]) == ({} if waits is None else {web: waits})


def test_all_is_promised_of_a_resize_that_an_older_version_accepted(database: Database) -> None:
    """It kept no number of what was imported."""
    fleet = stored(database, region_image(reservations={"web": SPEC}))
    resized(database, capacity_rru=3.0, imported_rru=None)
    ask(database, [("resize", 3, "degraded")])
    with database.snapshot() as tx:
        assert load_waiting(tx, [reservation_id(fleet, "web")]) == {}


def test_a_shared_buffer_is_granted_to_nobody_and_nobody_waits_for_it(database: Database) -> None:
    fleet = stored(
        database, region_image(reservations={"web": SPEC, "spare": SPEC}, kind={"spare": ReservationKind.SHARED_BUFFER})
    )
    spare = reservation_id(fleet, "spare")
    with database.snapshot() as tx:
        assert load_ungranted(tx, load_region(tx, "west").region_id) == {spare: 0.0}
        assert load_waiting(tx, [spare]) == {}
