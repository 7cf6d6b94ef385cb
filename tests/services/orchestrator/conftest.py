"""Provide an orchestrator on a real database whose clock stands still."""

from collections.abc import Iterator

import pytest

from libs.store.platform.database import Database
from tests.builders.clock import ManualClock
from tests.builders.executed_plan import Orchestrator


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()


@pytest.fixture
def orchestrator(database: Database, clock: ManualClock) -> Orchestrator:
    return Orchestrator(database, clock)
