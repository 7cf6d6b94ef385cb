from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from libs.store.platform.database import Database

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()
