"""A lock timeout is reported as the database's trouble, for every way of running the statement."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

from libs.store.platform.bulk import copy_in, copy_out, load_columns, raw_rows
from libs.store.platform.database import Database, Transaction
from libs.store.platform.errors import UNAVAILABLE
from libs.store.tables import hardware_types

COUNT = "SELECT count(*) FROM hardware_types"
WAYS: dict[str, Callable[[Transaction], object]] = {
    "through SQLAlchemy": lambda tx: tx.execute(sa.text(COUNT)),
    "copied in": lambda tx: copy_in(tx, hardware_types, {"name": ["hw-a"]}),
    "copied out": lambda tx: copy_out(tx, COUNT, {}, {"count": ">i8"}),
    "in columns": lambda tx: load_columns(tx, COUNT, {}, {"count": "i8"}),
    "raw": lambda tx: raw_rows(tx, COUNT, {}),
}


@pytest.fixture
def locked(database_url: str) -> Iterator[None]:
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE hardware_types IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize("way", WAYS)
def test_it_is_said_to_be_unavailable(way: str, database: Database) -> None:
    def wait() -> None:
        with database.write() as tx:
            tx.execute(sa.text("SET LOCAL lock_timeout = '50ms'"))
            WAYS[way](tx)

    with pytest.raises(UNAVAILABLE):
        wait()
