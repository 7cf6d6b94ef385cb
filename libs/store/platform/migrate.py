"""Migrate a database to the schema that this code expects."""

from __future__ import annotations

import functools
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

_LOCK = 0x506C696D736F6C6C
"""Advisory lock of migrations: "Plimsoll" in ASCII."""
_SCRIPTS = Path(__file__).parents[3] / "migrations"

_NAME, _STOP = "plimsoll-migrate", "old_processes_stop"
# Processes of Plimsoll do not name themselves; most other programs do.
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL AND application_name = ''"""


class OldProcessesRun(Exception):
    """Processes of the previous version are connected, and a missing migration needs them stopped."""


@functools.cache
def newest_revision() -> str:
    """Return the number of the newest migration, which is the schema that this code needs. Numbers have four digits."""
    return max(file.name[:4] for file in (_SCRIPTS / "versions").glob("[0-9]*.py"))


def migrate(database_url: str, *, to: str = "head", beside: bool = False) -> None:
    """Run the missing migrations up to `to`, each in its own transaction.

    A concurrent second call waits and then finds nothing to do. Errors of PostgreSQL or of a migration propagate; the
    migrations before stay.

    beside   migrate even while other processes are connected, for a connection that is none of Plimsoll's

    Raises OldProcessesRun, and changes nothing, if a missing migration has `old_processes_stop` and other processes are
    connected. An empty database has no old processes.
    """
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    url = sa.make_url(database_url).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"application_name": _NAME})
    with engine.connect() as connection:
        connection.execute(sa.select(sa.func.pg_advisory_lock(_LOCK)))  # until this connection is closed
        connection.commit()
        if not beside:
            _refuse_beside_old_processes(connection, ScriptDirectory.from_config(config), to)
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def _refuse_beside_old_processes(connection: sa.Connection, scripts: ScriptDirectory, to: str) -> None:
    with connection.begin():
        found = MigrationContext.configure(connection).get_current_revision()
        others = connection.execute(sa.text(_OTHERS)).scalar_one()
    if found is None or found > newest_revision() or not others:  # of a newer version: Alembic refuses it
        return
    missing = (one.module for one in scripts.iterate_revisions(to, found) if one.revision != found)
    reasons = {module.revision: module.old_processes_stop for module in missing if hasattr(module, _STOP)}
    if reasons:
        named = ", ".join(f"{number} ({reasons[number]})" for number in sorted(reasons))
        raise OldProcessesRun(
            f"{others} connections of processes of the previous version are open, and these migrations need them "
            f"stopped: {named}"
        )
