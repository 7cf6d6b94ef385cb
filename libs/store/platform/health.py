"""Check that the database is reachable and has the expected schema."""

from __future__ import annotations

import sqlalchemy as sa

from libs.store.platform.database import Database
from libs.store.platform.errors import UNAVAILABLE
from libs.store.platform.migrate import newest_revision


def check_database(database: Database) -> str | None:
    """Return the reason why the database cannot be used; None if the database is usable.

    The schema must be at least as new as this code needs. It may be newer: processes of the previous version run on
    while new ones start.
    """
    try:
        with database.snapshot() as tx:
            is_there = sa.inspect(tx).has_table("alembic_version")
            found = tx.execute(sa.text("SELECT max(version_num) FROM alembic_version")).scalar() if is_there else None
    except UNAVAILABLE:
        return "the database cannot be reached"
    if found is not None and found >= newest_revision():
        return None
    has = "has no schema" if found is None else f"has the schema {found}"
    return f"the database is not migrated: it {has}, and this version needs {newest_revision()}"
