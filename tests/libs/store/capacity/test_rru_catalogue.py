"""Reservations follow the present version of their class, also while owners resize them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
import sqlalchemy as sa

from libs.domain.reservation import ReservationSpec
from libs.store.capacity.reservation_lists import list_reservations
from libs.store.capacity.reservations import load_reservation, update_spec
from libs.store.capacity.rru_catalogue import append_version, follow_catalogue
from libs.store.fleet.regions import load_region
from libs.store.platform.database import Database, Transaction
from tests.builders.race import meanwhile
from tests.builders.region import region_image
from tests.builders.stored import NOW, read, reservation_id, stored

OWN, CLASS = {"hw-a": 3.0}, {"hw-a": 2.0}
"""RRUs of the owner, and of the class. Reservations are at generation 2 before."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A region whose reservations web and batch do not yet have the RRUs of their class."""
    database = Database(database_url, pool_size=4)
    spec = ReservationSpec(capacity_rru=1, rru={"hw-a": 1.0}, survives_msb_loss=False)
    stored(database, region_image(reservations={"web": spec, "batch": spec}))
    with database.write() as tx:
        tx.execute(sa.text("UPDATE reservations SET workload_class = 'web'"))
        append_version(
            tx,
            load_region(tx, "west").region_id,
            "web",
            after=0,
            reference="hw-a",
            rru=CLASS,
            asked_by=["ann"],
            approved_by="bob",
            reason=None,
            now=NOW,
        )
    yield database
    database.close()


def follow(tx: Transaction) -> int:
    return follow_catalogue(tx, load_region(tx, "west").region_id, actor="solver.catalogue", now=NOW)


def found(database: Database) -> dict[str, tuple[Mapping[str, float], int]]:
    with database.snapshot() as tx:
        return {one.name: (one.spec.rru, one.generation) for one in list_reservations(tx).items}


def test_a_resize_that_drops_the_class_meanwhile_keeps_its_own_values(database: Database) -> None:
    web = reservation_id(read(database), "web")

    def drop_class(tx: Transaction) -> int:
        present = load_reservation(tx, web)
        spec = replace(present.spec, workload_class=None, rru=OWN)
        return update_spec(tx, web, spec, generation=present.generation)

    assert meanwhile(database, drop_class, follow) == (1, 3)
    assert found(database) == {"web": (OWN, 3), "batch": (CLASS, 3)}


def test_two_solves_follow_the_catalogue_once(database: Database) -> None:
    assert meanwhile(database, follow, follow) == (0, 2)
    assert found(database) == {"web": (CLASS, 3), "batch": (CLASS, 3)}
