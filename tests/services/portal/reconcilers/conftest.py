"""An owner, and the jobs of each minute, on a clock that the test moves."""

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from libs.domain.principal import Role
from libs.store.platform.database import Database
from libs.web.app import create_app
from services.portal.api import ROUTERS
from services.portal.reconcilers.advance_windows import AdvanceWindows
from services.portal.reconcilers.keep_bookings import KeepBookings
from tests.builders.clock import ManualClock
from tests.libs.web.conftest import bearer
from tests.services.portal.conftest import OWNERS
from tests.services.portal.reconcilers.windows import assess_waiting


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def owner(database: Database, clock: ManualClock) -> Iterator[TestClient]:
    app = create_app(title="Portal", version="1", database=database, clock=clock, routers=ROUTERS)
    with TestClient(app, headers=bearer(database, Role.REQUESTER, "owner", OWNERS)) as client:
        yield client


@pytest.fixture
def tick(database: Database, clock: ManualClock) -> Callable[[], int]:
    """Run the job of each minute and the assessments after it. Return how many bookings were decided."""

    def run() -> int:
        AdvanceWindows(database, clock, "west").reconcile()
        assess_waiting(database, clock)
        return KeepBookings(database, clock, "west").reconcile()

    return run
