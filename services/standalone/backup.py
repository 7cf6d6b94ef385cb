"""Back up a platform's database, and restore it.

`python -m services.standalone.backup settle` does the part of a restore that needs no file.

docs/designs/0037-backup-and-restore.md gives the reasons.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from libs.reconcile.clock import SystemClock
from libs.reconcile.command import run_command
from libs.reconcile.environment import read_environment
from libs.store.moves.settle_restored import settle_restored
from libs.store.platform.backup import connection_environment, is_empty
from libs.store.platform.database import Database
from libs.store.platform.migrate import migrate, newest_revision
from services.standalone.postgres import running_postgres, url_of_running
from services.standalone.postgres_cluster import find_binaries
from services.standalone.settings import StandaloneSettings


class BackupFailed(RuntimeError):
    """A backup or a restore failed; the message says why."""


@contextmanager
def database_of(settings: StandaloneSettings) -> Iterator[str]:
    """Yield the URL of the platform's database: DATABASE_URL, or the embedded one, which is started if it does not run.

    Main thread only. Raises PostgresUnavailable.
    """
    home = settings.state_dir / "postgres"
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
    elif (url := url_of_running(home)) is not None:
        yield url
    else:
        with running_postgres(home) as started:
            yield started


def back_up(database_url: str, file: Path) -> int:
    """Write the whole database to `file`, which only this user may read. Return its bytes. The platform may run.

    Raises BackupFailed. There is no partial file.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        _run("pg_dump", database_url, "--format=custom", "--no-owner", "--no-privileges", f"--file={part}")
        part.replace(file)
    except OSError as error:
        raise BackupFailed(f"cannot write {file}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return file.stat().st_size


def restore(database_url: str, file: Path) -> list[str]:
    """Restore `file` into an empty database, and make it ready for the platform of this version. Return the regions.

    All movers are paused afterwards. Raises BackupFailed: the database is then as empty as before, or, after an error
    of a migration, holds what was restored.
    """
    if not file.is_file():
        raise BackupFailed(f"there is no file {file}")
    database = Database(database_url, pool_size=1)
    try:
        with database.snapshot() as tx:
            if not is_empty(tx):
                raise BackupFailed("the database is not empty: restore into a new one")
    finally:
        database.close()
    _require_known_schema(database_url, file)
    _run(
        "pg_restore",
        database_url,
        *("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"),
        f"--dbname={connection_environment(database_url).get('PGDATABASE', '')}",
        str(file),
    )
    return _settle(database_url, datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="minutes"))


def _settle(database_url: str, backed_up: str) -> list[str]:
    migrate(database_url)
    database = Database(database_url, pool_size=1)
    try:
        with database.write() as tx:
            return settle_restored(tx, backed_up=backed_up, now=SystemClock().now())
    finally:
        database.close()


def _require_known_schema(database_url: str, file: Path) -> None:
    found = _run("pg_restore", database_url, "--data-only", "--table=alembic_version", "--file=-", str(file))
    versions = [line for line in found.splitlines() if line.isdigit()]
    if not versions:
        raise BackupFailed(f"{file} is no backup of a platform")
    if max(versions) > newest_revision():
        raise BackupFailed(f"{file} has the schema {max(versions)}, and this version knows {newest_revision()}: update")


def _run(program: str, database_url: str, *arguments: str) -> str:
    """Run a program of PostgreSQL, and return its output. Raises BackupFailed with its first complaint."""
    try:
        connection = connection_environment(database_url)
    except ValueError as error:
        raise BackupFailed(str(error)) from error
    binary = find_binaries(Path(os.devnull)) / program
    done = subprocess.run(  # noqa: S603
        [str(binary), *arguments],
        env={"PATH": os.defpath, "LC_ALL": "C", **connection},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
        raise BackupFailed(f"{program} failed: {said.removeprefix(f'{program}: ').removeprefix('error: ')}")
    return done.stdout


def settle() -> None:
    """Pause all movers and skip identifiers, in a database that was restored by other means."""
    with database_of(read_environment(StandaloneSettings)) as url:
        _settle(url, "a time that is not known")


if __name__ == "__main__":
    run_command("services.standalone.backup", settle)
