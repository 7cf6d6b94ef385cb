"""`plimsoll up`: run the platform on this machine until Ctrl-C."""

from __future__ import annotations

import signal
import time
from typing import Annotated

import typer

from libs.reconcile.environment import read_environment
from libs.reconcile.settings import ClockSettings
from services.cli.failure import CliFailure
from services.cli.output import note, stderr
from services.standalone.settings import StandaloneSettings

_ANY_PORT = "0: the port of the last run if it is free, else any free port"


def up(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help=f"port of the API; {_ANY_PORT}")] = 0,
    pages_port: Annotated[int, typer.Option(min=0, max=65535, help=f"port of the pages; {_ANY_PORT}")] = 0,
) -> None:
    """Run the platform here: API, pages, worker, scheduler and, unless DATABASE_URL is set, a database."""
    settings = read_environment(StandaloneSettings)
    note(f"starting in {settings.state_dir}")
    began_s = time.monotonic()
    # After the first message, because the platform's code takes a while to load.
    from services.standalone.platform import running_platform
    from services.standalone.postgres_cluster import PostgresUnavailable
    from services.standalone.processes import ChildFailed

    def tell(sentence: str) -> None:
        note(f"  {time.monotonic() - began_s:4.0f} s  {sentence}")

    if host not in ("127.0.0.1", "::1", "localhost"):
        note(
            f"warning: {host} is served in plain HTTP: others on the network can read tokens. "
            "Put a TLS proxy before it: docs/operating.md, TLS"
        )
    clock = read_environment(ClockSettings).clock()
    try:
        with running_platform(
            settings, clock=clock, host=host, port=port, pages_port=pages_port, tell=tell
        ) as platform:
            tell(f"the API answers at {platform.url}, while workers still load")
            platform.supervisor.wait_until_ready()
            stderr.print(f"[green]ready[/green] at {platform.url}", highlight=False)
            note(f"  pages: {platform.pages_url}; log in with the admin token")
            note(f"  admin token: {platform.token_file}\n  logs: {settings.log_dir}")
            if platform.actuator == "simulated":
                note("  servers are simulated: no real one moves; PLIMSOLL_MOVER_ACTUATOR=webhook moves real ones")
            note("  `plimsoll get regions` in another terminal finds it; Ctrl-C stops it")
            platform.supervisor.run()
    except (ChildFailed, PostgresUnavailable, OSError) as error:
        raise CliFailure(str(error)) from error
    except _unavailable() as error:
        raise CliFailure(f"the database of DATABASE_URL does not answer: {str(error).splitlines()[0]}") from error
    except SystemExit as stopped:
        if stopped.code != 128 + signal.SIGINT:  # Ctrl-C is the normal end
            raise


def _unavailable() -> tuple[type[Exception], ...]:
    # Imported only after an error, because loading a database client would delay the first processes.
    from libs.store.platform.errors import UNAVAILABLE

    return UNAVAILABLE
