"""Provide the database of a standalone Plimsoll: the one in DATABASE_URL, or an embedded one."""

from __future__ import annotations

from services.standalone.postgres import prepared_postgres
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import Supervisor


def provide_database(settings: StandaloneSettings, supervisor: Supervisor) -> str:
    """Return the URL of a running database, before migrations. Start no server if DATABASE_URL is set.

    Raises PostgresUnavailable or ChildFailed if no server is available and none can be started.
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    server = supervisor.after_stop.enter_context(prepared_postgres(settings.state_dir / "postgres"))
    supervisor.start(server.command)
    return server.url
