"""Prepare a database for all services."""

from __future__ import annotations

from pathlib import Path

from libs.reconcile.clock import Clock
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate
from libs.store.platform.service_role import grant_service_role
from services.portal.admin_token import ensure_admin_token


def prepare_database(
    database_url: str, token_file: Path, clock: Clock, *, service_role: str | None = None, beside: bool = False
) -> None:
    """Bring the database to the schema of this version, and make the first admin token if there is none.

    service_role   the role that gets the rights of services
    beside         see migrate

    Any number of processes may do this at once. Raises the errors of PostgreSQL, migrations and the file system, and
    NotFound if there is no such role, and OldProcessesRun.
    """
    migrate(database_url, beside=beside)
    database = Database(database_url, pool_size=1)
    try:
        with database.write() as tx:
            ensure_admin_token(tx, token_file, now=clock.now())
            if service_role is not None:
                grant_service_role(tx, service_role)
    finally:
        database.close()
