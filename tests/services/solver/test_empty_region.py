"""A region without reservations is solved like any other: there is nothing to do."""

from collections.abc import Iterator

import pytest

from libs.domain.plan import SolveStatus
from libs.reconcile.clock import SystemClock
from libs.store.platform.database import Database
from services.solver.reconcilers.solve_bindings import SolveBindings
from services.solver.settings import SolverSettings
from tests.builders.region import region_image
from tests.builders.stored import stored


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    stored(database, region_image(msbs=2, servers_per_rack=2))
    yield database
    database.close()


def test_it_is_unchanged(database: Database, settings: SolverSettings) -> None:
    assert SolveBindings(database, SystemClock(), settings, "west", "test").reconcile() is SolveStatus.UNCHANGED
