"""Run the portal as a process: `python -m services.portal.main serve`, and `work` for its jobs.

`set-up` comes first: it prepares the database for all services.
"""

from __future__ import annotations

from libs.observability.logs import configure_logging
from libs.reconcile.command import run_command
from libs.reconcile.environment import read_environment


def serve() -> None:
    """Answer the routes of requests, reservations, approvals, quotas and tokens."""
    from libs.web.serving import serve_api
    from services.portal.api import API

    serve_api("portal", API)


def work() -> None:
    """Assess requests, and begin and end reservations."""
    from libs.jobs.working import work_jobs
    from services.portal.tasks import JOBS

    work_jobs("portal", JOBS)


def set_up() -> None:
    """Bring the database to the schema of this version, and make the first admin token if there is none."""
    from libs.store.platform.migrate import OldProcessesRun
    from libs.store.platform.refusals import NotFound
    from services.portal.set_up import prepare_database
    from services.portal.settings import SetUpSettings

    settings = read_environment(SetUpSettings)
    configure_logging("set-up")
    try:
        prepare_database(
            settings.database_url.get_secret_value(),
            settings.admin_token_file,
            settings.clock(),
            service_role=settings.service_role,
            beside=settings.migrate_beside,
        )
    except NotFound as error:
        raise SystemExit(f"plimsoll: PLIMSOLL_SERVICE_ROLE: {error}: CREATE ROLE it first") from error
    except OldProcessesRun as error:
        raise SystemExit(
            f"plimsoll: {error}. Stop them and repeat this; or set PLIMSOLL_MIGRATE_BESIDE=true if they are not ours"
        ) from error


if __name__ == "__main__":
    run_command("services.portal.main", set_up, serve, work)
