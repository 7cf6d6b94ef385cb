"""Check that the database is reachable and has the expected schema."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.tables import metadata


def check_database(database: Database) -> str | None:
    """Return the reason why the database cannot be used; None if the database is usable."""
    try:
        with database.snapshot() as tx:
            there = set(sa.inspect(tx).get_table_names())
    except UNAVAILABLE:
        return "the database cannot be reached"
    missing = sorted(set(metadata.tables) - there)
    return f"the database is not migrated: {', '.join(missing)} missing" if missing else None
