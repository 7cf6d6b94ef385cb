"""Run an embedded PostgreSQL: one server per folder, reached through a unix socket and a random password."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from services.standalone.exec_child import NOBODY
from services.standalone.postgres_cluster import (
    DATABASE,
    ROLE,
    SERVER_ENV,
    PostgresUnavailable,
    create_cluster,
    find_binaries,
    give_to_server,
    hand_over,
)
from services.standalone.postmaster import end_orphan, live_postmaster, pid_file
from services.standalone.processes import Command, Process

_PORT = 5432  # only the name of the socket: there is no TCP port
_SOCKET_BYTES_MAX = 103  # sun_path: 108 with its NUL on Linux, 104 on macOS
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "64MB",
    "wal_compression": "on",
    "jit": "off",  # our queries are short; compiling them costs more than it gains
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A prepared server. `url` works once `command` runs and is ready."""

    url: str
    command: Command


@contextmanager
def prepared_postgres(home: Path, *, durable: bool = True) -> Iterator[PostgresServer]:
    """Prepare `home` for a server, and lock it for this process until the end of the block. Start nothing.

    `durable=False` is for tests: a power cut may lose the data. Raises PostgresUnavailable if another process holds
    `home` or the data folder cannot be made.
    """
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    with _lock(home / "lock"):
        data, password_file = home / "data", home / "password"
        if not data.exists():
            create_cluster(data, password_file, durable=durable)
        end_orphan(data)
        if data.stat().st_uid == NOBODY:  # an earlier version made it
            hand_over(data)
        with _socket_folder(home, data) as socket:
            password = password_file.read_text()
            yield PostgresServer(url=_url(password, socket), command=_command(data, socket, durable))


def url_of_running(home: Path) -> str | None:
    """Return the URL of the server that runs in `home`; None if none does. Raises OSError without the right to read."""
    data = home.absolute() / "data"
    if live_postmaster(data) is None:
        return None
    socket = pid_file(data)[4]  # the folder of its socket
    return _url((home / "password").read_text(), Path(socket))


@contextmanager
def running_postgres(home: Path, *, durable: bool = True) -> Iterator[str]:
    """Run a server until the end of the block, and yield its URL. Call this in the main thread. A server that dies
    stays dead.
    """
    with prepared_postgres(home, durable=durable) as server:
        process = Process(server.command, home)
        try:
            process.wait_ready()
            yield server.url
        finally:
            process.stop()


def _url(password: str, socket: Path) -> str:
    return f"postgresql://{ROLE}:{password}@/{DATABASE}?host={quote(str(socket))}"


def _command(data: Path, socket: Path, durable: bool) -> Command:
    folder = '"' + str(socket).replace('"', '""') + '"'
    settings = _SETTINGS | {"unix_socket_directories": folder} | ({} if durable else _NOT_DURABLE)
    argv = [str(find_binaries(data) / "postgres"), "-D", str(data), "-p", str(_PORT)]
    for name, value in settings.items():
        argv += ["-c", f"{name}={value}"]
    env = dict(SERVER_ENV)
    left = pid_file(data)
    if left:
        # The crashed process is gone, but another process may have its id by now. PostgreSQL would then refuse to
        # start. It disregards the id of a grandparent, and its other checks of the folder stay.
        env["PG_GRANDPARENT_PID"] = left[0]
    # SIGINT is a fast shutdown: SIGTERM would wait forever for open connections.
    fast = signal.SIGINT
    return Command(
        name="postgres",
        argv=argv,
        env=env,
        cwd=data,
        ready=lambda: live_postmaster(data) is not None and pid_file(data)[7:] == ["ready"],
        stop_signal=fast,
        orphan_signal=fast,
        run_as=data.stat().st_uid,
        needed_by_others=True,
    )


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lock `path` for this process. The kernel releases the lock when the process ends, however it ends."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise PostgresUnavailable(
                f"{path.parent} is in use by process {file.read().strip()}: Plimsoll runs there already. Use that one, "
                "stop it, or set PLIMSOLL_STATE_DIR to another folder"
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


@contextmanager
def _socket_folder(home: Path, data: Path) -> Iterator[Path]:
    """Yield the data folder if its path fits a socket address, else a private temporary folder with a link
    `home/socket`.
    """
    if _fits(data):
        yield data
        return
    link = home / "socket"
    with suppress(OSError):
        shutil.rmtree(link.readlink())  # a killed process left it
    link.unlink(missing_ok=True)
    parent = next((p for p in (tempfile.gettempdir(), "/tmp") if _fits(Path(p) / "plimsoll-12345678")), None)  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-", dir=parent))
    link.symlink_to(folder)
    try:
        give_to_server(folder, data.stat().st_uid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        link.unlink(missing_ok=True)


def _fits(folder: Path) -> bool:
    # libpq reads a comma as a list, and SQLAlchemy a colon as a port. Allow only characters that need no quotes.
    plain = re.fullmatch(r"[\w/. +-]+", str(folder), re.ASCII) is not None
    return plain and len(os.fsencode(folder / f".s.PGSQL.{_PORT}")) <= _SOCKET_BYTES_MAX
