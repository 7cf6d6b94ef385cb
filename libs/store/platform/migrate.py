"""Migrate a database to the schema that this code expects."""

from __future__ import annotations

import functools
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

_LOCK = 0x506C696D736F6C6C
"""Advisory lock of migrations: "Plimsoll" in ASCII."""
_SCRIPTS = Path(__file__).parents[3] / "migrations"


@functools.cache
def newest_revision() -> str:
    """Return the number of the newest migration, which is the schema that this code needs. Numbers have four digits."""
    return max(file.name[:4] for file in (_SCRIPTS / "versions").glob("[0-9]*.py"))


def migrate(database_url: str, *, to: str = "head") -> None:
    """Run the missing migrations up to `to`, each in its own transaction.

    A concurrent second call waits and then finds nothing to do. Errors of PostgreSQL or of a migration propagate; the
    migrations before stay.
    """
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    url = sa.make_url(database_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_lock(_LOCK)))  # until this connection is closed
        connection.commit()
        config.attributes["connection"] = connection
        command.upgrade(config, to)
