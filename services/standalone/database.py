"""The database of an all-in-one Plimsoll: the one that DATABASE_URL names, or an embedded one."""

from __future__ import annotations

from services.standalone.postgres import prepared_postgres
from services.standalone.settings import StandaloneSettings
from services.standalone.supervisor import Supervisor


def provide_database(settings: StandaloneSettings, supervisor: Supervisor) -> str:
    """The URL of a database that answers; not migrated yet. Starts no server when DATABASE_URL is set.

    Raises PostgresUnavailable or ChildFailed when there is none and it cannot be started.
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    server = supervisor.after_stop.enter_context(prepared_postgres(settings.state_dir / "postgres"))
    supervisor.start(server.command)
    return server.url
