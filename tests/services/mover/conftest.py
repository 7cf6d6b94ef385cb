from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from libs.store.platform.database import Database


class ManualClock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def sleep(self, duration_s: float) -> None:
        self._now += timedelta(seconds=duration_s)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, pool_size=4)
    yield database
    database.close()
