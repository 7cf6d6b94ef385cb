"""`plimsoll backup` and `plimsoll restore`: keep the platform's database in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from libs.reconcile.environment import read_environment
from services.cli.failure import CliFailure
from services.cli.output import note, plural, say
from services.standalone.settings import StandaloneSettings

File = Annotated[Path, typer.Argument(help="the file", dir_okay=False)]


def backup(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="write over the file if it exists")] = False,
) -> None:
    """Write the platform's database to a file, while the platform runs. DATABASE_URL, or the one of `plimsoll up`.

    The file holds the requests of all owners: only this user may read it.
    """
    from services.standalone.backup import back_up

    if file.exists() and not force:
        raise CliFailure(f"{file} exists: choose another name, or add --force")
    with _database() as url:
        size = back_up(url, file)
    say(f"{file}: {size / 2**20:.1f} MiB")


def restore(file: File) -> None:
    """Restore a backup into an empty database: DATABASE_URL, or a new one in PLIMSOLL_STATE_DIR.

    No server moves afterwards until you say so: the fleet may have changed since the backup.
    """
    from services.standalone.backup import restore as restore_file

    with _database() as url:
        regions = restore_file(url, file)
    say(f"{file} is restored: {plural(len(regions), 'region')}, with the mover paused")
    note("Next: start the platform; `plimsoll import` compares a region with a list of its servers as they are now;")
    note("      then `plimsoll resume REGION` lets servers move")


@contextmanager
def _database() -> Iterator[str]:
    from libs.store.platform.errors import UNAVAILABLE
    from services.standalone.backup import BackupFailed, database_of
    from services.standalone.postgres_cluster import PostgresUnavailable

    try:
        with database_of(read_environment(StandaloneSettings)) as url:
            yield url
    except (BackupFailed, PostgresUnavailable, OSError) as error:
        raise CliFailure(str(error)) from error
    except UNAVAILABLE as error:
        raise CliFailure(f"the database does not answer: {str(error).splitlines()[0]}") from error
