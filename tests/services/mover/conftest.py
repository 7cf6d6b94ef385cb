"""Provide a mover on a real database whose clock stands still."""

from collections.abc import Iterator

import pytest

from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.mover import SPECS, Answers, Mover
from tests.builders.region import region_image
from tests.builders.stored import stored


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def mover(database: Database, clock: ManualClock) -> Mover:
    """server-00 goes from web to db, through all four steps. web keeps one in each MSB, so it can spare it."""
    kept = {"server-01": "web", "server-07": "web"}
    current, target = kept | {"server-00": "web"}, kept | {"server-00": "db"}
    stored(database, region_image(reservations=SPECS, current=current, target=target))
    mover = Mover(database, clock)
    mover.actuator = Answers()  # type: ignore[assignment]
    return mover
